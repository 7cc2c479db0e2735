//! How many executions of a node may go on at once, over all runs of this process, and who may change a state record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::plan::Node;
use crate::state::RecordKey;

/// The turns of every node that has a limit, by flow, node and limit. They are given first come, first
/// served.
#[derive(Debug, Default)]
pub struct Turns {
    nodes: Mutex<HashMap<(String, String, u32), Arc<Semaphore>>>,
    /// Turns at state records whose store keeps none.
    pub(crate) records: RecordTurns,
}

impl Turns {
    /// Waits for the node's turn and holds it until the permit is dropped; a node without a limit has none.
    pub(crate) async fn take(&self, flow: &str, node: &Node) -> Option<OwnedSemaphorePermit> {
        let limit = node.concurrency?;
        let turns = {
            let mut turns = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            let turns = turns.entry((flow.to_owned(), node.id.clone(), limit));
            // A limit of nothing would never let anyone go on; the checker refuses it.
            Arc::clone(turns.or_insert_with(|| Arc::new(Semaphore::new(limit.max(1) as usize))))
        };
        turns.acquire_owned().await.ok()
    }
}

/// The steps that work on state records, one at a time for each record, first come, first served. A step that read a
/// record would otherwise learn after its effects that another one has changed it.
#[derive(Debug, Default)]
pub struct RecordTurns(Mutex<HashMap<RecordKey, Arc<tokio::sync::Mutex<()>>>>);

/// A step's turn at a record.
#[derive(Debug)]
pub(crate) struct RecordTurn<'t> {
    turns: &'t RecordTurns,
    key: RecordKey,
    guard: Option<OwnedMutexGuard<()>>,
}

impl RecordTurns {
    pub(crate) async fn take(&self, key: RecordKey) -> RecordTurn<'_> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(key.clone()).or_default())
        };
        // A step that is cancelled while it waits leaves the record's entry to whoever has the turn.
        let mut taken = RecordTurn { turns: self, key, guard: None };
        taken.guard = Some(turn.lock_owned().await);
        taken
    }
}

impl Drop for RecordTurn<'_> {
    fn drop(&mut self) {
        self.guard = None;
        let mut turns = self.turns.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has or waits for the turn holds the entry too.
        if turns.get(&self.key).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            turns.remove(&self.key);
        }
    }
}
