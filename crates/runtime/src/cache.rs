//! Results that later runs take over: `runtime.cache` of a node.
//!
//! Invariants: the key holds everything that the result follows from, or what the author says it follows
//! from; only successes of steps without effects are kept, and none that a fallback made. A result belongs to one flow
//! and to one level: it is no result for another flow, and none for a flow that takes the same inputs for less
//! sensitive ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{OptionalExtension, params};
use stave_block::Sensitivity;
use stave_canon::{Object, Timestamp, Value};

use crate::Failure;
use crate::database::{Database, DatabaseError};
use crate::labels;
use crate::plan::PlannedNode;
use crate::run::Run;

/// Where cached results live. A cache that fails is a cache that has nothing: it never fails a run.
#[async_trait]
pub trait ResultCache: Send + Sync + std::fmt::Debug {
    async fn get(&self, key: &str, now: Timestamp) -> Option<Object>;

    async fn put(&self, key: &str, outputs: &Object, now: Timestamp, ttl: Duration);
}

/// A cache that ends with the process.
#[derive(Debug, Default)]
pub struct MemoryCache(Mutex<HashMap<String, (Object, Timestamp)>>);

/// A cache in the project's database.
#[derive(Debug)]
pub struct SqliteCache(Arc<Database>);

impl SqliteCache {
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        SqliteCache(database)
    }
}

#[async_trait]
impl ResultCache for MemoryCache {
    async fn get(&self, key: &str, now: Timestamp) -> Option<Object> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).filter(|(_, end)| now < *end).map(|(outputs, _)| outputs.clone())
    }

    async fn put(&self, key: &str, outputs: &Object, now: Timestamp, ttl: Duration) {
        let Ok(end) = now.checked_add(ttl) else { return };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, (_, end)| now < *end);
        kept.insert(key.to_owned(), (outputs.clone(), end));
    }
}

#[async_trait]
impl ResultCache for SqliteCache {
    async fn get(&self, key: &str, now: Timestamp) -> Option<Object> {
        let key = key.to_owned();
        let found = self.0.read(move |connection| {
            let mut statement = connection
                .prepare_cached("SELECT outputs FROM cached_result WHERE key = ?1 AND expires_at > ?2")?;
            let found: Option<String> =
                statement.query_row(params![key, now.as_millisecond()], |row| row.get(0)).optional()?;
            Ok::<_, DatabaseError>(found)
        });
        match stave_canon::parse(&found.await.ok()??) {
            Ok(Value::Object(outputs)) => Some(outputs),
            _ => None,
        }
    }

    async fn put(&self, key: &str, outputs: &Object, now: Timestamp, ttl: Duration) {
        let Ok(end) = now.checked_add(ttl) else { return };
        let (key, outputs) = (key.to_owned(), Value::Object(outputs.clone()).to_string());
        let written = self.0.write(move |connection| {
            connection
                .prepare_cached("DELETE FROM cached_result WHERE expires_at <= ?1")?
                .execute(params![now.as_millisecond()])?;
            connection
                .prepare_cached(
                    "INSERT INTO cached_result (key, outputs, expires_at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (key) DO UPDATE SET outputs = excluded.outputs, expires_at = excluded.expires_at",
                )?
                .execute(params![key, outputs, end.as_millisecond()])?;
            Ok::<_, DatabaseError>(())
        });
        // What is not kept is made again.
        let _ = written.await;
    }
}

impl Run<'_> {
    /// The key of a node's cached result; `None` when its results are not cached.
    pub(crate) fn cache_key(&self, node: &PlannedNode, inputs: &Object) -> Result<Option<String>, Failure> {
        let Some(cache) = &node.cache else { return Ok(None) };
        if node.with.contains_key("context_refs") || node.with.contains_key("ir") {
            // What files hold at the time is not a part of the key.
            return Ok(None);
        }
        let flow = self.plan.document.flow.name.as_str();
        let mut parts = vec![Value::from(flow), Value::from(node.fingerprint.as_str())];
        let read = labels::of_reads(&self.plan.document, &node.id)?;
        if read > Sensitivity::Public {
            parts.push(read.word().into());
        }
        match &cache.key {
            Some(template) => parts.push(self.fill_key(node, inputs, template, "cache")?.into()),
            None => {
                parts.push(Value::Object(sorted(inputs)));
                let read = |name: &String| match self.request.context.get(name) {
                    Some(value) => Value::Array(vec![value.clone()]),
                    None => Value::Null,
                };
                let fields: Object = match &cache.context {
                    Some(names) => names.iter().map(|name| (name.clone(), read(name))).collect(),
                    None => self.request.fields.clone(),
                };
                parts.push(Value::Object(sorted(&fields)));
            }
        }
        Ok(Some(stave_canon::sha256_hex(stave_canon::compact_utf8(&Value::Array(parts)))))
    }
}

/// The order in which inputs arrive says nothing.
fn sorted(object: &Object) -> Object {
    let mut sorted = object.clone();
    sorted.sort_keys();
    sorted
}
