//! What steps remember: records of fields, kept by a store, written through a buffer.
//!
//! Invariant: a step's writes reach the store only together with its success. A failed attempt leaves no
//! trace, two attempts never see each other's writes, and what a step read has not changed when its writes
//! are kept.

mod buffer;
mod forget;
mod memory;
mod sqlite;
mod stores;

use std::path::Path;

use async_trait::async_trait;
use stave_block::Sensitivity;
use stave_canon::{Object, Timestamp, Value};

use crate::concurrency_limits::RecordLocks;
use crate::database::DatabaseError;

pub use buffer::StateBuffer;
pub use forget::Forgotten;
pub use memory::MemoryStore;
pub use sqlite::SqliteStore;
pub(crate) use sqlite::commit_in;
pub use stores::StateStores;

/// The address of a record: flow, scope, session or run, and the resolved key, as one text; and the backend that
/// its node names, when that is not the project's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey {
    text: String,
    backend: Option<String>,
}

impl RecordKey {
    /// The engine prefixes every key, so records of two flows or two sessions never meet.
    #[must_use]
    pub fn new(flow: &str, scope: &str, owner: &str, key: &str) -> Self {
        let parts = [flow, scope, owner, key].map(Value::from).to_vec();
        RecordKey { text: stave_canon::compact_utf8(&Value::Array(parts)), backend: None }
    }

    /// The key that has this text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        RecordKey { text: text.to_owned(), backend: None }
    }

    /// The flow, the scope and the session or run that a record belongs to.
    #[must_use]
    pub fn owner(&self) -> Option<(String, String, String)> {
        let parts = stave_canon::parse(&self.text).ok()?;
        let text = |index: usize| parts.as_array()?.get(index)?.as_str().map(str::to_owned);
        Some((text(0)?, text(1)?, text(2)?))
    }

    /// The same record in a backend of its own.
    #[must_use]
    pub fn in_backend(mut self, backend: &str) -> Self {
        self.backend = Some(backend.to_owned());
        self
    }

    #[must_use]
    pub fn backend(&self) -> Option<&str> {
        self.backend.as_deref()
    }

    /// What the keys of all records begin with that belong to one run and end with it.
    #[must_use]
    pub(crate) fn of_request(flow: &str, run: &str) -> String {
        let parts = ["request", run].map(Value::from);
        let parts: Vec<Value> = [Value::from(flow)].into_iter().chain(parts).collect();
        let mut beginning = stave_canon::compact_utf8(&Value::Array(parts));
        beginning.pop();
        beginning.push(',');
        beginning
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// One change to a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    Set(String, Value),
    Delete(String),
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    pub fields: Object,
    /// Grows with every write; 0 when there is no record.
    pub version: i64,
}

/// Writes to one record that belong to one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub key: RecordKey,
    pub writes: Vec<Write>,
    /// The version that the step read; `None` when it wrote without reading.
    pub read: Option<i64>,
    /// The run and the step. A commit that was made before is not made again.
    pub by: String,
    pub at: Timestamp,
    /// When the record ends, counted from its last write; `None` keeps it.
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("the state store failed: {0}")]
    Store(String),
    #[error("a state record is damaged: {0}")]
    Damaged(String),
    #[error("the record holds {0} data, which the flow is not checked for")]
    BeyondCheck(Sensitivity),
    #[error("another run changed the state record in the meantime")]
    Conflict,
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Where records live.
#[async_trait]
pub trait StateStore: Send + Sync + std::fmt::Debug {
    /// The file that holds a record and may be a journal's as well; both are then written in one transaction.
    fn file(&self, key: &RecordKey) -> Option<&Path> {
        let _ = key;
        None
    }

    /// Whether the record is kept by a server, and not beside the journal.
    fn is_server(&self, key: &RecordKey) -> bool {
        let _ = key;
        true
    }

    /// The turns of steps that work on a record, when the store keeps them for all engines of this process.
    fn locks(&self, key: &RecordKey) -> Option<&RecordLocks> {
        let _ = key;
        None
    }

    /// The record at `now`; empty when there is none or it has ended.
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Record, StateError>;

    /// Applies all writes of a commit, or none. What the step read must not have changed since.
    async fn commit(&self, commit: Commit) -> Result<(), StateError>;
}

/// The version that follows `version` in a write at `at`. Time keeps the versions of a record apart from
/// those of one that ended before it under the same key.
#[must_use]
pub fn next_version(version: i64, at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or_default().max(version.saturating_add(1))
}

/// The field of a record that has its label. Steps neither see it nor lower it.
pub const LABEL_FIELD: &str = "$sensitivity";

/// Applies writes to a record's fields. The label of a record only rises, and ends with its last field.
pub fn apply(fields: &mut Object, writes: Vec<Write>) {
    for write in writes {
        match write {
            Write::Set(field, value) if field == LABEL_FIELD => {
                let label = label_of(fields).join(read_label(Some(&value)));
                fields.insert(field, label.word().into());
            }
            Write::Set(field, value) => {
                fields.insert(field, value);
            }
            Write::Delete(field) if field == LABEL_FIELD => {}
            Write::Delete(field) => {
                fields.shift_remove(&field);
            }
        }
    }
    if fields.len() == 1 {
        fields.shift_remove(LABEL_FIELD);
    }
}

/// The label that a record carries.
#[must_use]
pub fn label_of(fields: &Object) -> Sensitivity {
    read_label(fields.get(LABEL_FIELD))
}

fn read_label(value: Option<&Value>) -> Sensitivity {
    value.map_or(Sensitivity::Public, |value| Sensitivity::at_worst(value.as_str()))
}
