//! Records in the project's SQLite file, so that a conversation continues in the next process.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use stave_canon::{Timestamp, Value};

use super::{Commit, Record, RecordKey, StateError, StateStore, apply, next_version};
use crate::concurrency_limits::RecordLocks;
use crate::database::Database;
use crate::database::segments::{self, Shape, Unfoldable};

/// The state's view of a database.
#[derive(Debug, Clone)]
pub struct SqliteStore(Arc<Database>);

impl SqliteStore {
    #[must_use]
    pub fn new(database: Arc<Database>) -> Self {
        SqliteStore(database)
    }

    pub(super) fn database(&self) -> &Arc<Database> {
        &self.0
    }

    /// Every record that has not ended, and when it does.
    pub async fn records(
        &self,
        now: Timestamp,
    ) -> Result<Vec<(RecordKey, Record, Option<Timestamp>)>, StateError> {
        self.0
            .read_snapshot(move |connection| {
                let mut statement = connection.prepare_cached(
                    "SELECT key, expires_at FROM state_record WHERE expires_at IS NULL OR expires_at > ?1 ORDER BY key",
                )?;
                let mut rows = statement.query(params![now.as_millisecond()])?;
                let mut records = Vec::new();
                while let Some(row) = rows.next()? {
                    let key = RecordKey::of_text(&row.get::<_, String>(0)?);
                    let end = row.get::<_, Option<i64>>(1)?;
                    let end = end.and_then(|end| Timestamp::from_millisecond(end).ok());
                    if let Some(kept) = kept(connection, &key, now)? {
                        records.push((key, kept.record, end));
                    }
                }
                Ok(records)
            })
            .await
    }
}

#[async_trait]
impl StateStore for SqliteStore {
    fn is_server(&self, _: &RecordKey) -> bool {
        false
    }

    fn file(&self, _: &RecordKey) -> Option<&Path> {
        Some(self.0.path())
    }

    fn locks(&self, _: &RecordKey) -> Option<&RecordLocks> {
        Some(self.0.record_locks())
    }

    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Record, StateError> {
        let key = key.clone();
        self.0
            .read_snapshot(move |connection| Ok(kept(connection, &key, now)?.unwrap_or_default().record))
            .await
    }

    async fn commit(&self, commit: Commit) -> Result<(), StateError> {
        self.0.write(move |connection| commit_in(connection, commit)).await
    }
}

#[derive(Debug, Default)]
struct Kept {
    record: Record,
    written_by: String,
}

/// Applies a commit inside the caller's transaction.
pub(crate) fn commit_in(connection: &Connection, commit: Commit) -> Result<(), StateError> {
    let Kept { mut record, written_by } = kept(connection, &commit.key, commit.at)?.unwrap_or_default();
    if written_by == commit.by {
        return Ok(());
    }
    if commit.read.is_some_and(|read| read != record.version) {
        return Err(StateError::Conflict);
    }
    apply(&mut record.fields, commit.writes);
    connection
        .prepare_cached("DELETE FROM state_record WHERE expires_at <= ?1")?
        .execute(params![commit.at.as_millisecond()])?;
    // A history that has grown adds what is new; the rest of it is there.
    let folded = segments::fold(Value::Object(record.fields), Shape::Fields);
    connection
        .prepare_cached(
            "INSERT INTO state_record (key, fields, version, written_by, expires_at, segments)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (key) DO UPDATE SET fields = excluded.fields, version = excluded.version,
                 written_by = excluded.written_by, expires_at = excluded.expires_at, segments = excluded.segments",
        )?
        .execute(params![
            commit.key.as_str(),
            folded.text(),
            next_version(record.version, commit.at),
            commit.by,
            commit.expires_at.map(Timestamp::as_millisecond),
            folded.store(connection)?
        ])?;
    segments::sweep(connection)?;
    Ok(())
}

fn kept(connection: &Connection, key: &RecordKey, now: Timestamp) -> Result<Option<Kept>, StateError> {
    let row: Option<(String, i64, String, Option<String>)> = connection
        .prepare_cached(
            "SELECT fields, version, written_by, segments FROM state_record
             WHERE key = ?1 AND (expires_at IS NULL OR expires_at > ?2)",
        )?
        .query_row(params![key.as_str(), now.as_millisecond()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((text, version, written_by, references)) = row else { return Ok(None) };
    match segments::unfold(connection, &text, references.as_deref()) {
        Ok(Value::Object(fields)) => Ok(Some(Kept { record: Record { fields, version }, written_by })),
        Ok(_) => Err(StateError::Damaged("it is not an object".to_owned())),
        Err(Unfoldable::Damaged(reason)) => Err(StateError::Damaged(reason)),
        Err(Unfoldable::Sqlite(error)) => Err(error.into()),
    }
}

impl From<rusqlite::Error> for StateError {
    fn from(error: rusqlite::Error) -> Self {
        StateError::Database(error.into())
    }
}
