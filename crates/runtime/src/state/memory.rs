//! Records that live as long as the process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use stave_canon::{Object, Timestamp};

use super::{Commit, RecordKey, StateError, StateStore, apply};

#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<RecordKey, Record>>);

#[derive(Debug, Default)]
struct Record {
    fields: Object,
    expires_at: Option<Timestamp>,
}

impl MemoryStore {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl StateStore for MemoryStore {
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Object, StateError> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = records.get(key).filter(|record| record.expires_at.is_none_or(|end| now < end));
        Ok(live.map(|record| record.fields.clone()).unwrap_or_default())
    }

    async fn commit(&self, commit: Commit, now: Timestamp) -> Result<(), StateError> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.retain(|_, record| record.expires_at.is_none_or(|end| now < end));
        let record = records.entry(commit.key).or_default();
        apply(&mut record.fields, commit.writes);
        record.expires_at = commit.expires_at;
        Ok(())
    }
}
