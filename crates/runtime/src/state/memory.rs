//! Records that live as long as the process.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use stave_canon::Timestamp;

use super::{Commit, Record, RecordKey, StateError, StateStore, apply, next_version};

#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<RecordKey, Kept>>);

#[derive(Debug, Default)]
struct Kept {
    record: Record,
    written_by: String,
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
    fn is_server(&self, _: &RecordKey) -> bool {
        false
    }

    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Record, StateError> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live = records.get(key).filter(|kept| kept.expires_at.is_none_or(|end| now < end));
        Ok(live.map(|kept| kept.record.clone()).unwrap_or_default())
    }

    async fn commit(&self, commit: Commit) -> Result<(), StateError> {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.retain(|_, kept| kept.expires_at.is_none_or(|end| commit.at < end));
        let version = records.get(&commit.key).map_or(0, |kept| kept.record.version);
        if records.get(&commit.key).is_some_and(|kept| kept.written_by == commit.by) {
            return Ok(());
        }
        if commit.read.is_some_and(|read| read != version) {
            return Err(StateError::Conflict);
        }
        let kept = records.entry(commit.key).or_default();
        apply(&mut kept.record.fields, commit.writes);
        kept.record.version = next_version(version, commit.at);
        kept.written_by = commit.by;
        kept.expires_at = commit.expires_at;
        Ok(())
    }
}
