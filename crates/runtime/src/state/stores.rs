//! The stores of a project: its own, and those that nodes name.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::Timestamp;

use crate::concurrency_limits::RecordLocks;

use super::{Commit, Record, RecordKey, StateError, StateStore};

/// Sends every record to the backend that its node names. A backend that the project has no address for is
/// the project's own store.
#[derive(Debug)]
pub struct StateStores {
    own: Arc<dyn StateStore>,
    named: HashMap<String, Arc<dyn StateStore>>,
}

impl StateStores {
    #[must_use]
    pub fn new(own: Arc<dyn StateStore>) -> Self {
        StateStores { own, named: HashMap::new() }
    }

    pub fn insert(&mut self, backend: impl Into<String>, store: Arc<dyn StateStore>) {
        self.named.insert(backend.into(), store);
    }

    fn of(&self, key: &RecordKey) -> &dyn StateStore {
        let named = key.backend().and_then(|backend| self.named.get(backend));
        named.unwrap_or(&self.own).as_ref()
    }
}

#[async_trait]
impl StateStore for StateStores {
    fn file(&self, key: &RecordKey) -> Option<&Path> {
        self.of(key).file(key)
    }

    fn is_server(&self, key: &RecordKey) -> bool {
        self.of(key).is_server(key)
    }

    fn locks(&self, key: &RecordKey) -> Option<&RecordLocks> {
        self.of(key).locks(key)
    }

    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Record, StateError> {
        self.of(key).load(key, now).await
    }

    async fn commit(&self, commit: Commit) -> Result<(), StateError> {
        self.of(&commit.key).commit(commit).await
    }
}
