//! How many executions of a node may run at once, over all runs of this process, and which step may change a state
//! record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::plan::PlannedNode;
use crate::state::RecordKey;

/// The semaphore of every node that has a limit, by flow, node and limit. Permits are given first come, first
/// served.
#[derive(Debug, Default)]
pub struct ConcurrencyLimits {
    nodes: Mutex<HashMap<(String, String, u32), Arc<Semaphore>>>,
    /// Locks of state records whose store has none.
    pub(crate) records: RecordLocks,
}

impl ConcurrencyLimits {
    /// Waits for a permit of the node, which is held until it is dropped; a node without a limit needs none.
    pub(crate) async fn acquire(&self, flow: &str, node: &PlannedNode) -> Option<OwnedSemaphorePermit> {
        let limit = node.concurrency?;
        let semaphore = {
            let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = nodes.entry((flow.to_owned(), node.id.clone(), limit));
            // A limit of zero would block every execution; the checker rejects it.
            Arc::clone(entry.or_insert_with(|| Arc::new(Semaphore::new(limit.max(1) as usize))))
        };
        semaphore.acquire_owned().await.ok()
    }
}

/// The locks of state records: one step at a time works on a record, first come, first served. A step that read a
/// record would otherwise learn after its effects that another one has changed it.
#[derive(Debug, Default)]
pub struct RecordLocks(Mutex<HashMap<RecordKey, Arc<tokio::sync::Mutex<()>>>>);

/// The lock that a step holds on a record.
#[derive(Debug)]
pub(crate) struct RecordLock<'l> {
    locks: &'l RecordLocks,
    key: RecordKey,
    guard: Option<OwnedMutexGuard<()>>,
}

impl RecordLocks {
    pub(crate) async fn lock(&self, key: RecordKey) -> RecordLock<'_> {
        let mutex = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(key.clone()).or_default())
        };
        // A step that is cancelled while it waits leaves the record's entry to the holder of the lock.
        let mut lock = RecordLock { locks: self, key, guard: None };
        lock.guard = Some(mutex.lock_owned().await);
        lock
    }
}

impl Drop for RecordLock<'_> {
    fn drop(&mut self) {
        self.guard = None;
        let mut locks = self.locks.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The holder of the lock and everyone who waits for it hold the entry too.
        if locks.get(&self.key).is_some_and(|mutex| Arc::strong_count(mutex) == 1) {
            locks.remove(&self.key);
        }
    }
}
