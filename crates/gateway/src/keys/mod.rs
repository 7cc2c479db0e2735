//! Virtual keys: who may ask for which models, how often and for how much money.
//!
//! A key's text is shown once and never kept: the file holds its SHA-256, which is enough because the text
//! has 256 random bits. The bound of a request is set aside before it is sent and replaced by what it
//! used, so requests that run at the same time cannot exceed a budget together.

mod admission;
mod bucket;
mod ledger;
mod meter;
mod models;
mod store;
mod text;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::Connection;
use stave_canon::{Clock, Timestamp};
use stave_llm::prices::Cost;
use subtle::{Choice, ConstantTimeEq};

pub use self::admission::{Admission, Estimate, Refusal, RefusalKind};
pub(crate) use self::ledger::{Calendar, nanodollars};
pub(crate) use self::meter::Meter;
pub use self::models::{BadPattern, ModelPattern};
pub use self::store::{IssuedKey, KeyStore, KeyStoreError, ListedKey, NewKey};
use self::text::KeyText;
use crate::database::{EvidenceError, Queue};

/// A key as requests are judged by it.
#[derive(Debug)]
pub struct VirtualKey {
    /// Public: it is part of the key's text, and of every record.
    pub id: Arc<str>,
    pub name: String,
    pub tenant: Arc<str>,
    /// The models it may ask for. None means every model.
    pub models: Vec<ModelPattern>,
    pub limits: KeyLimits,
    /// Whether it may look at everybody's evidence.
    pub is_admin: bool,
    pub expires_at: Option<Timestamp>,
    pub(crate) meter: Arc<Meter>,
}

/// What a key may use. An absent limit does not limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyLimits {
    pub requests_per_minute: Option<u64>,
    pub tokens_per_minute: Option<u64>,
    /// Per day and per month, in UTC.
    pub day_budget: Option<Cost>,
    pub month_budget: Option<Cost>,
}

/// All keys, with what they have used.
#[derive(Debug)]
pub struct VirtualKeys {
    table: RwLock<HashMap<Arc<str>, Stored>>,
    issued: AtomicUsize,
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Stored {
    key: Arc<VirtualKey>,
    secrets: Vec<StoredSecret>,
}

/// The hash of a key's text. A key that was rotated has two for a while.
#[derive(Debug, Clone)]
struct StoredSecret {
    hash: [u8; 32],
    ends_at: Option<Timestamp>,
}

impl VirtualKey {
    #[must_use]
    pub fn allows(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|pattern| pattern.matches(model))
    }
}

impl VirtualKeys {
    pub(crate) fn load(
        connection: &Connection,
        queue: Arc<Queue>,
        clock: Arc<dyn Clock>,
    ) -> Result<VirtualKeys, EvidenceError> {
        let keys = VirtualKeys { table: RwLock::default(), issued: AtomicUsize::new(0), queue, clock };
        keys.reload(connection, &HashSet::new())?;
        Ok(keys)
    }

    /// The key that a client presents, when it is one of ours and still good.
    ///
    /// How long this takes does not depend on how much of a key was guessed: the id is not secret, and hashes
    /// are compared in constant time, also when there is nothing to compare with.
    #[must_use]
    pub fn authenticate(&self, presented: &str) -> Option<Arc<VirtualKey>> {
        let text = KeyText::read(presented)?;
        let hash = text.hash();
        let now = self.clock.now();
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let stored = table.get(text.id());
        let nothing = [StoredSecret { hash: [0; 32], ends_at: Some(Timestamp::MIN) }];
        let secrets = stored.map_or(nothing.as_slice(), |stored| stored.secrets.as_slice());
        let mut found = Choice::from(0);
        for secret in secrets {
            let is_good = secret.ends_at.is_none_or(|end| now < end);
            found |= secret.hash.ct_eq(&hash) & Choice::from(u8::from(is_good));
        }
        let key = &stored.filter(|_| bool::from(found))?.key;
        key.expires_at.is_none_or(|end| now < end).then(|| Arc::clone(key))
    }

    /// Sets aside the bound of a request, or says why it must not be sent.
    pub fn admit(
        &self,
        key: &Arc<VirtualKey>,
        model: &str,
        estimate: impl Into<Estimate>,
        now: Timestamp,
    ) -> Result<Admission, Refusal> {
        admission::admit(&self.queue, key, model, estimate.into(), now)
    }

    /// How many keys were ever issued. Revoking the last one does not let everybody in.
    #[must_use]
    pub fn count(&self) -> usize {
        self.issued.load(Ordering::Relaxed)
    }

    /// Reads the keys again, and what was spent by other users of the file. What keys have set aside and
    /// how fast they were used stays with them. `own` are the holds that this process has in memory too.
    pub(crate) fn reload(&self, connection: &Connection, own: &HashSet<i64>) -> Result<(), EvidenceError> {
        let now = self.clock.now();
        let rows = store::read_keys(connection)?;
        let calendar = Calendar::of(now);
        let mut spent = store::read_spent(connection, calendar)?;
        let mut held = store::read_held(connection, calendar, own)?;
        self.issued.store(rows.len(), Ordering::Relaxed);
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = HashMap::with_capacity(rows.len());
        for row in rows.into_iter().filter(|row| row.revoked_at.is_none()) {
            let meter =
                table.get(row.id.as_str()).map_or_else(Arc::default, |known| Arc::clone(&known.key.meter));
            let spent = spent.remove(&row.id).unwrap_or_default();
            meter.replace_committed(spent, held.remove(&row.id).unwrap_or_default());
            let id: Arc<str> = row.id.into();
            let key = VirtualKey {
                id: Arc::clone(&id),
                name: row.name,
                tenant: row.tenant.into(),
                models: row.models,
                limits: row.limits,
                is_admin: row.is_admin,
                expires_at: row.expires_at,
                meter,
            };
            next.insert(id, Stored { key: Arc::new(key), secrets: row.secrets });
        }
        *table = next;
        Ok(())
    }
}
