//! The view of a record that one attempt of a step has.

use std::sync::{Mutex, PoisonError};

use stave_block::Sensitivity;
use stave_canon::{Object, Timestamp, Value};
use stave_script::StateHost;

use super::{Commit, LABEL_FIELD, RecordKey, StateError, StateStore, Write, apply, label_of};
use crate::volume::write_bytes;

/// Reads through to the store once, then keeps reads and writes to itself until it is committed.
#[derive(Debug)]
pub struct StateBuffer<'s> {
    store: &'s dyn StateStore,
    key: RecordKey,
    /// What the flow is checked for in this record.
    label: Sensitivity,
    now: Timestamp,
    /// The most that the attempt may write; a buffer is memory of everybody's process.
    limit: u64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The record as this attempt sees it, once it has been read.
    fields: Option<Object>,
    version: Option<i64>,
    /// The label of the record, when it holds more than the flow is checked for.
    beyond: Option<Sensitivity>,
    writes: Vec<Write>,
    bytes: u64,
}

impl<'s> StateBuffer<'s> {
    #[must_use]
    pub fn new(store: &'s dyn StateStore, key: RecordKey, now: Timestamp) -> Self {
        let label = Sensitivity::Public;
        StateBuffer { store, key, label, now, limit: u64::MAX, inner: Mutex::default() }
    }

    /// The same for a record that may hold data of this label.
    #[must_use]
    pub fn labelled(mut self, label: Sensitivity) -> Self {
        self.label = label;
        self
    }

    /// The label of the record, when a step has asked for a record that holds more than the flow is checked for.
    #[must_use]
    pub fn beyond_check(&self) -> Option<Sensitivity> {
        self.lock().beyond
    }

    /// Whether a step has written.
    #[must_use]
    pub fn has_writes(&self) -> bool {
        !self.lock().writes.is_empty()
    }

    #[must_use]
    pub fn key(&self) -> &RecordKey {
        &self.key
    }

    /// The same with a bound on what may be written.
    #[must_use]
    pub fn within(self, limit: u64) -> Self {
        StateBuffer { limit, ..self }
    }

    /// Whether more was to be written than the bound allows. What did not fit is not kept, so the attempt has to fail.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.lock().bytes > self.limit
    }

    /// A copy of a field, so that changing it changes nothing until it is set.
    pub async fn get(&self, field: &str) -> Result<Option<Value>, StateError> {
        if let Some(fields) = &self.lock().fields {
            return Ok(fields.get(field).cloned());
        }
        let mut loaded = self.store.load(&self.key, self.now).await?;
        let mut inner = self.lock();
        let holds = label_of(&loaded.fields);
        if holds > self.label {
            inner.beyond = Some(holds);
            return Err(StateError::BeyondCheck(holds));
        }
        loaded.fields.shift_remove(LABEL_FIELD);
        if inner.fields.is_none() {
            apply(&mut loaded.fields, inner.writes.clone());
            inner.fields = Some(loaded.fields);
            inner.version = Some(loaded.version);
        }
        Ok(inner.fields.as_ref().and_then(|fields| fields.get(field)).cloned())
    }

    pub fn set(&self, field: String, value: Value) {
        self.write(Write::Set(field, value));
    }

    pub fn delete(&self, field: String) {
        self.write(Write::Delete(field));
    }

    /// The writes as a commit of the step that is named `by`; `None` when there are none.
    #[must_use]
    pub fn into_commit(self, ttl_seconds: Option<u32>, by: String) -> Option<Commit> {
        let Inner { version, mut writes, .. } =
            self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        if writes.is_empty() {
            return None;
        }
        if self.label > Sensitivity::Public {
            writes.push(Write::Set(LABEL_FIELD.to_owned(), self.label.word().into()));
        }
        let ttl = ttl_seconds.map(|seconds| std::time::Duration::from_secs(seconds.into()));
        let expires_at = ttl.and_then(|ttl| self.now.checked_add(ttl).ok());
        Some(Commit { key: self.key, writes, read: version, by, at: self.now, expires_at })
    }

    fn write(&self, write: Write) {
        let mut inner = self.lock();
        inner.bytes = inner.bytes.saturating_add(write_bytes(&write));
        if inner.bytes > self.limit {
            return;
        }
        if let Some(fields) = &mut inner.fields {
            apply(fields, vec![write.clone()]);
        }
        inner.writes.push(write);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl StateHost for StateBuffer<'_> {
    async fn get(&self, key: &str) -> Result<Option<Value>, stave_script::StateHostError> {
        StateBuffer::get(self, key).await.map_err(|error| stave_script::StateHostError(error.to_string()))
    }

    async fn set(&self, key: &str, value: Value) -> Result<(), stave_script::StateHostError> {
        StateBuffer::set(self, key.to_owned(), value);
        if self.is_over() {
            return Err(stave_script::StateHostError("more is written than `state_bytes` allows".to_owned()));
        }
        Ok(())
    }

    async fn delete(&self, key: &str) -> Result<(), stave_script::StateHostError> {
        StateBuffer::delete(self, key.to_owned());
        Ok(())
    }
}
