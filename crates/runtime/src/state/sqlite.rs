//! Records in a SQLite file, so that a conversation goes on in the next process.
//!
//! Write-ahead log with full synchronisation: a commit that was acknowledged survives a power loss, and
//! other processes may read beside us.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use stave_canon::{Object, Timestamp, Value};

use super::{Commit, RecordKey, StateError, StateStore, apply};

/// How long a writer waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct SqliteStore(Arc<Mutex<Connection>>);

impl SqliteStore {
    /// Opens the store at a path that the caller chose, creating the file when it is not there.
    pub fn open(path: &Path) -> Result<SqliteStore, StateError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS state_record (
                key TEXT PRIMARY KEY,
                fields TEXT NOT NULL,
                expires_at INTEGER
            ) STRICT, WITHOUT ROWID;",
        )?;
        Ok(SqliteStore(Arc::new(Mutex::new(connection))))
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, StateError> {
        let connection = Arc::clone(&self.0);
        let task = tokio::task::spawn_blocking(move || {
            work(&mut connection.lock().unwrap_or_else(PoisonError::into_inner))
        });
        task.await.map_err(|error| StateError::Store(error.to_string()))?
    }
}

#[async_trait]
impl StateStore for SqliteStore {
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Object, StateError> {
        let key = key.clone();
        self.with(move |connection| fields(connection, &key, now)).await
    }

    async fn commit(&self, commit: Commit, now: Timestamp) -> Result<(), StateError> {
        self.with(move |connection| {
            // The lock is taken before the record is read, so a second process can not write between.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut record = fields(&transaction, &commit.key, now)?;
            apply(&mut record, commit.writes);
            transaction
                .execute("DELETE FROM state_record WHERE expires_at <= ?1", params![now.as_millisecond()])?;
            transaction.execute(
                "INSERT INTO state_record (key, fields, expires_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (key) DO UPDATE SET fields = excluded.fields, expires_at = excluded.expires_at",
                params![
                    commit.key.as_str(),
                    Value::Object(record).to_string(),
                    commit.expires_at.map(Timestamp::as_millisecond)
                ],
            )?;
            transaction.commit()?;
            Ok(())
        })
        .await
    }
}

fn fields(connection: &Connection, key: &RecordKey, now: Timestamp) -> Result<Object, StateError> {
    let text: Option<String> = connection
        .prepare_cached(
            "SELECT fields FROM state_record WHERE key = ?1 AND (expires_at IS NULL OR expires_at > ?2)",
        )?
        .query_row(params![key.as_str(), now.as_millisecond()], |row| row.get(0))
        .optional()?;
    let Some(text) = text else { return Ok(Object::new()) };
    match stave_canon::parse(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(StateError::Damaged("it is not an object".to_owned())),
        Err(error) => Err(StateError::Damaged(error.to_string())),
    }
}

impl From<rusqlite::Error> for StateError {
    fn from(error: rusqlite::Error) -> Self {
        StateError::Store(error.to_string())
    }
}
