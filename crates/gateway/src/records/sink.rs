//! Where requests leave their records.

use std::path::Path;
use std::sync::Arc;

use super::{RequestRecord, Stats, StatsQuery};
use crate::database::{Entry, EvidenceError, Queue};

/// Takes records and never loses one: not when many come at once, and not when the disk is slow or full.
///
/// Appending is a push onto a list in memory and never waits for the file. When the writer falls behind by more
/// than the queue's length, [`RecordSink::has_room`] says so, and no further request should be taken in until
/// there is room: a request that could leave no record is not sent.
#[derive(Debug, Clone)]
pub struct RecordSink {
    queue: Arc<Queue>,
    path: Arc<Path>,
}

/// What became of records, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkCounts {
    /// Entries that are not in the file yet.
    pub waiting: usize,
    /// Records that are in the file.
    pub written: u64,
    /// Groups that could not be written when they were tried.
    pub failed_writes: u64,
    /// How often the queue became full.
    pub times_full: u64,
}

impl RecordSink {
    pub(crate) fn new(queue: Arc<Queue>, path: Arc<Path>) -> RecordSink {
        RecordSink { queue, path }
    }

    /// Leaves a record. Each answered request does this exactly once.
    pub fn append(&self, record: RequestRecord) {
        self.queue.append(Entry::Record(Box::new(record)));
    }

    /// Whether another request may be taken in.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// Waits until another request may be taken in.
    pub async fn room(&self) {
        self.queue.room().await;
    }

    /// The totals of the records in the file. Reads it on a connection of its own, and blocks the
    /// thread.
    pub fn stats(&self, query: &StatsQuery) -> Result<Stats, EvidenceError> {
        Stats::of_file(&self.path, query)
    }

    #[must_use]
    pub fn counts(&self) -> SinkCounts {
        SinkCounts {
            waiting: self.queue.held(),
            written: self.queue.records_written(),
            failed_writes: self.queue.failed_writes(),
            times_full: self.queue.times_full(),
        }
    }
}
