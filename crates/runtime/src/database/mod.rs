//! The project's SQLite file: runs, their journal and their state, written by one thread.
//!
//! Write-ahead log with full synchronisation: what was acknowledged survives a power loss, and other
//! processes may read and write beside us. State and journal are views of one file, so that what a step
//! remembered and the step's result become durable in one transaction.

mod driving;
mod lease;
mod log;
mod schema;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

pub(crate) use self::driving::Deferred;
pub use self::driving::Driver;
use self::driving::Driving;
use self::lease::Lease;
pub(crate) use self::lease::{GRACE, Liveness};
use self::log::Log;
use self::writer::{Condition, Writer};
use crate::turns::RecordTurns;

/// How long a writer waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open database. Dropping it waits for the writes that are under way.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    writer: Writer,
    reader: Arc<Mutex<Connection>>,
    lease: Lease,
    driving: Arc<Driving>,
    condition: Arc<Condition>,
    record_turns: RecordTurns,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// Another process holds the lock for longer than a writer waits.
    #[error("the database is locked by another process: {0}")]
    Locked(String),
    /// The disk is full, read-only or failing, or a limit on the size of files is reached.
    #[error("the database can not be written: {0}")]
    Unwritable(String),
    #[error("the database failed: {0}")]
    Sqlite(String),
    #[error("the database has version {found}, and this program knows versions up to {known}")]
    Version { found: i64, known: i64 },
    #[error("the lock of this process can not be taken: {0}")]
    Lease(String),
    #[error("the database is closed")]
    Closed,
}

impl Database {
    /// Opens the file at a path that the caller chose, creating it when it is not there. `owner` names
    /// this process among those that use the file; no two may have the same name.
    pub fn open(path: &Path, owner: &str) -> Result<Arc<Database>, DatabaseError> {
        let writing = connect(path)?;
        schema::prepare(&writing)?;
        let reading = connect(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let condition = Arc::new(Condition::default());
        Ok(Arc::new(Database {
            path: path.to_path_buf(),
            writer: Writer::start(writing, Log::of(path), Arc::clone(&condition))?,
            reader: Arc::new(Mutex::new(reading)),
            lease: Lease::new(folder.join("owners"), owner),
            driving: Arc::default(),
            condition,
            record_turns: RecordTurns::default(),
        }))
    }

    /// Why the database can not be written at the moment; `None` while it can be.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.condition.fault()
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes something as soon as the database can be written, however long that takes.
    pub(crate) fn defer(&self, deferred: Deferred) {
        self.writer.defer(deferred);
    }

    /// The turns of steps at the state records of this file.
    pub(crate) fn record_turns(&self) -> &RecordTurns {
        &self.record_turns
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Does `work` in a transaction. What it did is durable when this returns `Ok`, and undone otherwise.
    pub(crate) async fn write<T, E>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        self.writer.write(work).await
    }

    /// Reads what has been committed.
    pub(crate) async fn read<T, E>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let reader = Arc::clone(&self.reader);
        let task =
            tokio::task::spawn_blocking(move || work(&reader.lock().unwrap_or_else(PoisonError::into_inner)));
        task.await.map_err(|_| E::from(DatabaseError::Closed))?
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.writer.close();
        self.lease.end(!self.condition.has_deferred());
    }
}

impl DatabaseError {
    /// Whether the same write may succeed later, once the disk has room or the other process is done.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, DatabaseError::Locked(_) | DatabaseError::Unwritable(_))
    }
}

fn connect(path: &Path) -> Result<Connection, DatabaseError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Of use for a file that has no tables yet; an older one keeps what it has.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", log::CHECKPOINT_PAGES)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DatabaseError::Locked(text),
            Some(
                ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::NoLargeFileSupport,
            ) => DatabaseError::Unwritable(text),
            _ => DatabaseError::Sqlite(text),
        }
    }
}
