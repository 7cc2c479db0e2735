//! What steps remember: records of fields, kept by a store, written through a buffer.
//!
//! Invariant: a step's writes reach the store only together with its success. A failed attempt leaves no
//! trace, and two attempts never see each other's writes.

mod buffer;
mod memory;
mod sqlite;

use async_trait::async_trait;
use stave_canon::{Object, Timestamp, Value};

pub use buffer::StateBuffer;
pub use memory::MemoryStore;
pub use sqlite::SqliteStore;

/// The address of a record: flow, scope, session or run, and the resolved key, as one text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordKey(String);

impl RecordKey {
    /// The engine prefixes every key, so records of two flows or two sessions never meet.
    #[must_use]
    pub fn new(flow: &str, scope: &str, owner: &str, key: &str) -> Self {
        let parts = [flow, scope, owner, key].map(Value::from).to_vec();
        RecordKey(stave_canon::compact_utf8(&Value::Array(parts)))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One change to a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    Set(String, Value),
    Delete(String),
}

/// Writes to one record that belong to one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    pub key: RecordKey,
    pub writes: Vec<Write>,
    /// When the record ends, counted from its last write; `None` keeps it.
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("the state store failed: {0}")]
    Store(String),
    #[error("a state record is damaged: {0}")]
    Damaged(String),
}

/// Where records live.
#[async_trait]
pub trait StateStore: Send + Sync + std::fmt::Debug {
    /// The record's fields at `now`; empty when there is none or it has ended.
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Object, StateError>;

    /// Applies all writes of a commit, or none.
    async fn commit(&self, commit: Commit, now: Timestamp) -> Result<(), StateError>;
}

/// Applies writes to a record's fields.
fn apply(fields: &mut Object, writes: Vec<Write>) {
    for write in writes {
        match write {
            Write::Set(field, value) => {
                fields.insert(field, value);
            }
            Write::Delete(field) => {
                fields.shift_remove(&field);
            }
        }
    }
}
