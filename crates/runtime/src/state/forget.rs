//! Records that are taken away by hand.
//!
//! Invariant: what a run in progress may work on stays. The check and the deletion are one transaction, so no run begins
//! in between.

use std::sync::Arc;

use rusqlite::{Connection, params};
use stave_canon::Value;

use super::{RecordKey, SqliteStore, StateError};
use crate::database::{Database, segments};
use crate::journal::{JournalError, RunFilter, RunStatus, SqliteJournal};

/// What became of a record that was to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forgotten {
    Deleted,
    /// There is no such record.
    Unknown,
    /// This run is in progress and may work on it.
    Held(String),
}

impl SqliteStore {
    /// Takes a record away, unless a run in progress may work on it. With `is_trial` nothing is changed.
    pub async fn forget(&self, key: &RecordKey, is_trial: bool) -> Result<Forgotten, StateError> {
        let (key, database) = (key.clone(), Arc::clone(self.database()));
        self.database().write(move |connection| forget(connection, &key, is_trial, &database)).await
    }
}

fn forget(
    connection: &Connection,
    key: &RecordKey,
    is_trial: bool,
    database: &Arc<Database>,
) -> Result<Forgotten, StateError> {
    let mut known = connection.prepare_cached("SELECT 1 FROM state_record WHERE key = ?1")?;
    if !known.exists(params![key.as_str()])? {
        return Ok(Forgotten::Unknown);
    }
    if let Some(run) = holder(connection, key, database)? {
        return Ok(Forgotten::Held(run));
    }
    if !is_trial {
        connection
            .prepare_cached("DELETE FROM state_record WHERE key = ?1")?
            .execute(params![key.as_str()])?;
        segments::sweep(connection)?;
    }
    Ok(Forgotten::Deleted)
}

/// A run in progress that may work on a record: of the same flow, and of its session or the run that it belongs to.
fn holder(
    connection: &Connection,
    key: &RecordKey,
    database: &Arc<Database>,
) -> Result<Option<String>, StateError> {
    let Some((flow, scope, owner)) = key.owner() else { return Ok(None) };
    let journal = SqliteJournal::new(Arc::clone(database));
    for status in [RunStatus::Running, RunStatus::Queued] {
        let filter = RunFilter { flow: Some(flow.clone()), status: Some(status), ..RunFilter::default() };
        for run in journal.list_in(connection, &filter).map_err(unread)? {
            let request: String = connection
                .prepare_cached("SELECT request FROM run WHERE id = ?1")?
                .query_row(params![run.id], |row| row.get(0))?;
            let request = stave_canon::parse(&request).unwrap_or_default();
            let session = request.get("session_id").and_then(Value::as_str);
            let may_work = if scope == "request" { run.id == owner } else { session == Some(owner.as_str()) };
            if may_work {
                return Ok(Some(run.id));
            }
        }
    }
    Ok(None)
}

fn unread(error: JournalError) -> StateError {
    match error {
        JournalError::Database(error) => StateError::Database(error),
        other => StateError::Damaged(other.to_string()),
    }
}
