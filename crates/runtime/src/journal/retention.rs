//! How long ended runs are kept.

use std::time::Duration;

use rusqlite::{Connection, params};
use stave_canon::Timestamp;

use super::read_runs::{nanoseconds, summary_of};
use super::sqlite::{SqliteJournal, end_request_state};
use super::{JournalError, RunStatus, RunSummary};
use crate::database::{DatabaseError, Ownership, segments};

/// How many runs are taken away in one transaction, so that others can write in between.
const AT_ONCE: usize = 200;

/// How many runs are taken away at once because of the database's size.
const OVER_SIZE_AT_ONCE: usize = 8;

/// How many pages are given back in one transaction.
const PAGES_AT_ONCE: u32 = 2000;

/// Which ended runs may go. Runs that have not ended always stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunRetention {
    /// Those that ended longer ago than this; `None` lets age alone take nothing away.
    pub older_than: Option<Duration>,
    /// The newest ones stay whatever their age and the size.
    pub keep: usize,
    /// The oldest ones go until the database holds no more than this.
    pub max_bytes: Option<u64>,
}

/// What was taken away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// The ids of the runs, the oldest first.
    pub runs: Vec<String>,
    pub documents: usize,
}

impl std::ops::AddAssign for Removed {
    fn add_assign(&mut self, other: Removed) {
        self.runs.extend(other.runs);
        self.documents += other.documents;
    }
}

impl SqliteJournal {
    /// Takes away what a retention does not keep.
    pub async fn retain(&self, retention: RunRetention, now: Timestamp) -> Result<Removed, JournalError> {
        let mut removed = Removed::default();
        loop {
            let part = self.retain_batch(retention, now, AT_ONCE).await?;
            if part.runs.is_empty() {
                return Ok(removed);
            }
            removed += part;
        }
    }

    /// Takes away at most `limit` runs that a retention does not keep, in one transaction. Nothing is removed once the
    /// retention holds, so a caller repeats this until no run goes.
    pub async fn retain_batch(
        &self,
        retention: RunRetention,
        now: Timestamp,
        limit: usize,
    ) -> Result<Removed, JournalError> {
        if let Some(age) = retention.older_than {
            let before = before(now, age)?;
            let removed = self.remove(before, retention.keep, limit).await?;
            if !removed.runs.is_empty() {
                return Ok(removed);
            }
        }
        match retention.max_bytes {
            // A few at a time, so that no more go than have to.
            Some(most) if self.bytes().await? > most => {
                self.remove(now, retention.keep, limit.min(OVER_SIZE_AT_ONCE)).await
            }
            _ => Ok(Removed::default()),
        }
    }

    /// The runs that [`SqliteJournal::retain`] would remove because of their age, the oldest first. How many more go because
    /// of the database's size is known only once they are gone.
    pub async fn too_old(
        &self,
        retention: RunRetention,
        now: Timestamp,
    ) -> Result<Vec<RunSummary>, JournalError> {
        let Some(age) = retention.older_than else { return Ok(Vec::new()) };
        let (before, keep) = (before(now, age)?, i64::try_from(retention.keep).unwrap_or(i64::MAX));
        let ownership = self.database.ownership();
        self.database
            .read(move |connection| {
                let ids = removable(connection, before, keep, i64::MAX)?;
                ids.iter().map(|id| summary_of(connection, id, &ownership)).collect()
            })
            .await
    }

    /// The bytes that are in use in the database.
    pub async fn bytes(&self) -> Result<u64, JournalError> {
        self.database
            .read(|connection| {
                let number =
                    |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
                let used = number("page_count")?.saturating_sub(number("freelist_count")?);
                let bytes = used.saturating_mul(number("page_size")?);
                Ok(u64::try_from(bytes).unwrap_or_default())
            })
            .await
    }

    /// The bytes of the database's file, those that hold nothing included.
    pub async fn file_bytes(&self) -> Result<u64, JournalError> {
        self.database
            .read(|connection| {
                let number =
                    |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
                let bytes = number("page_count")?.saturating_mul(number("page_size")?);
                Ok(u64::try_from(bytes).unwrap_or_default())
            })
            .await
    }

    /// Gives pages that are no longer needed back to the file system, some at a time so that others can write in
    /// between.
    pub async fn shrink(&self) -> Result<(), JournalError> {
        let mut before = i64::MAX;
        loop {
            let left: i64 = self
                .database
                .write(|connection| {
                    stave_sqlite::free_pages(connection, PAGES_AT_ONCE)?;
                    Ok::<_, JournalError>(
                        connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?,
                    )
                })
                .await?;
            if left == 0 || left >= before {
                break;
            }
            before = left;
        }
        // The file gets shorter when the log is copied into it. A reader at that moment may prevent it,
        // and a later checkpoint does it.
        self.database
            .read(|connection| {
                let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
                Ok(())
            })
            .await
    }

    /// Takes one run away that somebody else has taken over.
    pub async fn forget(&self, run: &str) -> Result<(), JournalError> {
        let run = run.to_owned();
        self.database.write(move |connection| forget(connection, &run)).await
    }

    /// Takes away one run and gives what it was. A run that has not ended goes only when that is asked for, and one that
    /// a process drives never does.
    pub async fn delete(&self, run: &str, even_unended: bool) -> Result<RunSummary, JournalError> {
        // While this process holds the run, no driver of this process begins to work on it.
        let held = self.reserve(run)?;
        let deleted = match self.wait_for_owner(run).await {
            Ok(()) => {
                let (run, ownership) = (run.to_owned(), self.database.ownership());
                self.database
                    .write(move |connection| delete(connection, &run, even_unended, &ownership))
                    .await
            }
            Err(error) => Err(error),
        };
        held.settle();
        deleted
    }

    /// Takes away runs that ended before `before`, except the newest `keep`, and the documents that no
    /// run needs any more. At most `limit` runs go at once, the oldest first.
    pub async fn remove(
        &self,
        before: Timestamp,
        keep: usize,
        limit: usize,
    ) -> Result<Removed, JournalError> {
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.database.write(move |connection| remove(connection, before, keep, limit)).await
    }
}

fn remove(
    connection: &Connection,
    before: Timestamp,
    keep: i64,
    limit: i64,
) -> Result<Removed, JournalError> {
    let ids = removable(connection, before, keep, limit)?;
    for id in &ids {
        forget(connection, id)?;
    }
    let documents = if ids.is_empty() { 0 } else { sweep(connection)? };
    Ok(Removed { runs: ids, documents })
}

/// The time before which runs ended that are older than `age`.
fn before(now: Timestamp, age: Duration) -> Result<Timestamp, JournalError> {
    now.checked_sub(age).map_err(|_| {
        JournalError::Database(DatabaseError::Sqlite("the age reaches before all time".to_owned()))
    })
}

/// The runs that ended before `before`, except the newest `keep`; at most `limit`, the oldest first.
fn removable(
    connection: &Connection,
    before: Timestamp,
    keep: i64,
    limit: i64,
) -> Result<Vec<String>, JournalError> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM run WHERE ended_at < ?1 AND status IN (?4, ?5, ?6) AND id NOT IN
             (SELECT id FROM run ORDER BY started_at DESC, rowid DESC LIMIT ?2)
         ORDER BY started_at LIMIT ?3",
    )?;
    let ended = [RunStatus::Ok, RunStatus::Error, RunStatus::Cancelled].map(RunStatus::word);
    let parameters = params![nanoseconds(before), keep, limit, ended[0], ended[1], ended[2]];
    let ids = statement.query_map(parameters, |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(ids)
}

/// Takes away what no run refers to any more. Gives the number of documents.
fn sweep(connection: &Connection) -> Result<usize, JournalError> {
    segments::sweep(connection)?;
    let unused = "DELETE FROM document WHERE hash NOT IN (SELECT document FROM run)";
    Ok(connection.prepare_cached(unused)?.execute([])?)
}

/// Takes away one run, when its status allows that.
fn delete(
    connection: &Connection,
    run: &str,
    even_unended: bool,
    ownership: &Ownership,
) -> Result<RunSummary, JournalError> {
    let summary = summary_of(connection, run, ownership)?;
    match summary.status {
        RunStatus::Ok | RunStatus::Error | RunStatus::Cancelled => {}
        // Somebody drives it, here or in another process.
        RunStatus::Running | RunStatus::Queued => return Err(JournalError::Busy(run.to_owned())),
        RunStatus::Interrupted | RunStatus::Quarantined | RunStatus::Waiting if even_unended => {
            end_request_state(connection, run)?;
        }
        status @ (RunStatus::Interrupted | RunStatus::Quarantined | RunStatus::Waiting) => {
            return Err(JournalError::Unended { run: run.to_owned(), status });
        }
    }
    forget(connection, run)?;
    sweep(connection)?;
    Ok(summary)
}

/// Takes away everything that is kept of a run, but for its document.
fn forget(connection: &Connection, run: &str) -> Result<(), JournalError> {
    for table in ["step", "call", "decision"] {
        connection.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?.execute(params![run])?;
    }
    connection.prepare_cached("DELETE FROM run WHERE id = ?1")?.execute(params![run])?;
    Ok(())
}
