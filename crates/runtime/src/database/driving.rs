//! Which runs this process drives, and the right to drive one of them.
//!
//! Invariants: at most one `Driver` of a run exists in this process. Each claim of a run has a number that grows, and
//! the journal accepts a result only from the owner and claim that the database holds, so a driver that lost its run
//! cannot write to it. A driver that is dropped before its run ended or waits gives the run back as interrupted, or
//! as quarantined when a panic drops it; while the database cannot be written, the writer's thread keeps trying.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, params};
use stave_canon::{Clock, Timestamp};

use super::Database;

/// The runs that this process drives.
#[derive(Debug, Default)]
pub(crate) struct Driving(Mutex<HashMap<String, Drive>>);

#[derive(Debug, Clone, Copy, Default)]
struct Drive {
    /// The number of the claim; 0 until the database holds it.
    claim: i64,
    /// Whether someone wants the run to end and could not write that down.
    is_cancelled: bool,
}

/// A write that is tried until it succeeds. Doing it twice must do no more than doing it once.
#[derive(Clone)]
pub(crate) struct Deferred(Arc<DeferredWrite>);

type DeferredWrite = dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync;

/// A run to be given back: nobody drives it any more, and it has neither ended nor does it wait.
#[derive(Debug, Clone)]
struct Release {
    run: String,
    owner: String,
    claim: i64,
    /// When the driver let go, if it had a clock.
    at: Option<Timestamp>,
    is_waiting: bool,
    /// Whether the work on the run panicked. The fault is this program's and would come again.
    has_panicked: bool,
}

/// The right to drive one run. Dropping it gives the run back.
#[derive(Debug)]
pub struct Driver(Option<Held>);

#[derive(Debug)]
struct Held {
    database: Arc<Database>,
    run: String,
    claim: i64,
    clock: Option<Arc<dyn Clock>>,
    is_settled: AtomicBool,
    /// Whether the run waited for a person before it was claimed.
    was_waiting: bool,
    /// Whether nothing was done, so that the run is as it was before.
    is_undone: bool,
}

impl Driving {
    pub(crate) fn contains(&self, run: &str) -> bool {
        self.lock().contains_key(run)
    }

    /// The number of the claim that this process drives a run by.
    pub(crate) fn claim_of(&self, run: &str) -> Option<i64> {
        self.lock().get(run).map(|drive| drive.claim)
    }

    /// Asks the driver of a run in this process to end it; `false` when there is none.
    pub(crate) fn cancel(&self, run: &str) -> bool {
        self.lock().get_mut(run).map(|drive| drive.is_cancelled = true).is_some()
    }

    pub(crate) fn is_cancelled(&self, run: &str) -> bool {
        self.lock().get(run).is_some_and(|drive| drive.is_cancelled)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Drive>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database {
    /// Reserves a run for one driver of this process; `None` when there is one already.
    pub(crate) fn reserve(self: &Arc<Self>, run: &str) -> Option<Driver> {
        let mut driving = self.driving().lock();
        if driving.contains_key(run) {
            return None;
        }
        driving.insert(run.to_owned(), Drive::default());
        let database = Arc::clone(self);
        let is_settled = AtomicBool::new(false);
        Some(Driver(Some(Held {
            database,
            run: run.to_owned(),
            claim: 0,
            clock: None,
            is_settled,
            was_waiting: false,
            is_undone: false,
        })))
    }
}

impl Deferred {
    pub(crate) fn new(
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
    ) -> Deferred {
        Deferred(Arc::new(work))
    }

    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        (self.0)(connection)
    }
}

impl fmt::Debug for Deferred {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Deferred")
    }
}

impl Driver {
    /// The right to drive a run that no journal keeps.
    #[must_use]
    pub fn unkept() -> Driver {
        Driver(None)
    }

    /// With the clock that decides when it lets go.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Driver {
        if let Some(held) = &mut self.0 {
            held.clock = Some(clock);
        }
        self
    }

    /// The run has ended or waits, and the journal says so: there is nothing to give back.
    pub fn settle(&self) {
        if let Some(held) = &self.0 {
            held.is_settled.store(true, Ordering::Relaxed);
        }
    }

    /// Gives the run back as it was before it was claimed.
    pub fn undo(mut self) {
        if let Some(held) = &mut self.0 {
            held.is_undone = true;
        }
    }

    /// The database holds this claim.
    pub(crate) fn claimed(&mut self, claim: i64, was_waiting: bool) {
        if let Some(held) = &mut self.0 {
            held.claim = claim;
            held.was_waiting = was_waiting;
            if let Some(drive) = held.database.driving().lock().get_mut(&held.run) {
                drive.claim = claim;
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let Some(held) = self.0.take() else { return };
        // A claim that follows has a later number, so that it is not given back by this one.
        held.database.driving().lock().remove(&held.run);
        if !held.is_settled.load(Ordering::Relaxed) {
            let at = held.clock.as_ref().map(|clock| clock.now());
            let owner = held.database.lease().owner().to_owned();
            let is_waiting = held.is_undone && held.was_waiting;
            let has_panicked = std::thread::panicking();
            let (run, claim) = (held.run.clone(), held.claim);
            let release = Release { run, owner, claim, at, is_waiting, has_panicked };
            let ownership = held.database.ownership();
            let write = move |connection: &Connection| release.write(connection, ownership.driving());
            held.database.defer(Deferred::new(write));
        }
    }
}

impl Release {
    /// Writes that nobody drives the run. A later claim stays as it is. A claim of 0 was never confirmed: whether
    /// it reached the database is unknown, so the owner's name alone decides.
    fn write(&self, connection: &Connection, driving: &Driving) -> rusqlite::Result<()> {
        if self.claim == 0 && driving.contains(&self.run) {
            return Ok(());
        }
        let at = self.at.map(|at| i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX));
        connection
            .prepare_cached(
                "UPDATE run SET status = iif(?6, 'quarantined', iif(?5, 'waiting', 'interrupted')),
                     crashes = iif(?6, crashes + 1, 0),
                     used = used + max(0, coalesce(?4, claimed_at) - claimed_at)
                 WHERE id = ?1 AND owner = ?2 AND (?3 = 0 OR claims = ?3) AND status IN ('running', 'queued')",
            )?
            .execute(params![self.run, self.owner, self.claim, at, self.is_waiting, self.has_panicked])?;
        Ok(())
    }
}
