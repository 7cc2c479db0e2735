//! How many executions of a node may go on at once, over all runs of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::plan::Node;

/// The turns of every node that has a limit, by flow, node and limit. They are given first come, first
/// served.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<(String, String, u32), Arc<Semaphore>>>);

impl Turns {
    /// Waits for the node's turn and holds it until the permit is dropped; a node without a limit has none.
    pub(crate) async fn take(&self, flow: &str, node: &Node) -> Option<OwnedSemaphorePermit> {
        let limit = node.concurrency?;
        let turns = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let turns = turns.entry((flow.to_owned(), node.id.clone(), limit));
            // A limit of nothing would never let anyone go on; the checker refuses it.
            Arc::clone(turns.or_insert_with(|| Arc::new(Semaphore::new(limit.max(1) as usize))))
        };
        turns.acquire_owned().await.ok()
    }
}
