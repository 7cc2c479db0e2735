//! A file in a folder of its own, and a clock that is set by hand.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stave_canon::{Clock, Ids, Timestamp};
use stave_gateway::database::{Evidence, EvidenceSettings, FILE};
use stave_gateway::keys::{IssuedKey, KeyLimits, KeyStore, NewKey};
use stave_llm::prices::Cost;

/// A Monday, at noon.
pub(crate) const NOON: &str = "2026-11-16T12:00:00Z";

#[derive(Debug)]
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    pub(crate) fn set(&self, text: &str) {
        self.0.store(time(text).as_microsecond(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.0.load(Ordering::SeqCst)).expect("a time")
    }

    fn elapsed(&self) -> Duration {
        // Advances with every look, so that code that waits for time to pass sees it pass.
        static CALLS: AtomicI64 = AtomicI64::new(0);
        Duration::from_secs(CALLS.fetch_add(2, Ordering::SeqCst).unsigned_abs())
    }
}

/// Ids without a pattern that a test could lean on by accident.
#[derive(Debug)]
pub(crate) struct ScatteredIds(Mutex<u128>);

impl Ids for ScatteredIds {
    fn fresh(&self) -> u128 {
        let mut state = self.0.lock().expect("no test panics while it holds this");
        *state = state.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(0x5851_F42D);
        *state ^ (*state >> 64)
    }
}

#[derive(Debug)]
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) ids: ScatteredIds,
}

impl Place {
    pub(crate) fn new() -> Place {
        let clock = Arc::new(HandClock(AtomicI64::new(0)));
        clock.set(NOON);
        Place { folder: tempfile::tempdir().expect("a folder"), clock, ids: ScatteredIds(Mutex::new(7)) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(FILE)
    }

    pub(crate) fn store(&self) -> KeyStore {
        KeyStore::open(&self.path()).expect("the file can be opened")
    }

    pub(crate) fn evidence(&self) -> Evidence {
        self.evidence_with(EvidenceSettings {
            gather: Duration::from_millis(1),
            ..EvidenceSettings::default()
        })
    }

    pub(crate) fn evidence_with(&self, settings: EvidenceSettings) -> Evidence {
        let clock: Arc<dyn Clock> = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Evidence::open(&self.path(), clock, settings).expect("the file can be opened")
    }

    pub(crate) fn issue(&self, new: &NewKey) -> IssuedKey {
        self.store().issue(new, &self.ids, self.clock.now()).expect("a key can be issued")
    }
}

pub(crate) fn new_key(name: &str, limits: KeyLimits) -> NewKey {
    NewKey {
        name: name.to_owned(),
        tenant: "acme".to_owned(),
        models: Vec::new(),
        limits,
        is_admin: false,
        expires_at: None,
    }
}

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

pub(crate) fn cents(cents: u64) -> Cost {
    Cost::from_micros(cents * 10_000)
}

/// A budget of so many cents.
pub(crate) fn budget(amount: u64) -> Option<Cost> {
    Some(cents(amount))
}
