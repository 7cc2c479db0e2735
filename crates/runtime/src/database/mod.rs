//! The project's SQLite file: runs, their journal and their state, written by one thread.
//!
//! Write-ahead log with full synchronisation: what was acknowledged survives a power loss, and other
//! processes may read and write beside us. State and journal are views of one file, so that what a step
//! remembered and the step's result become durable in one transaction.

mod driving;
mod lease;
mod log;
mod mark;
mod ownership;
mod schema;
pub(crate) mod segments;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

pub(crate) use self::driving::Deferred;
pub use self::driving::Driver;
pub(crate) use self::driving::Driving;
use self::lease::Lease;
pub(crate) use self::lease::{GRACE, Liveness};
use self::log::Log;
use self::mark::Mark;
pub(crate) use self::ownership::Ownership;
use self::writer::{Condition, Writer};
use crate::concurrency_limits::RecordLocks;

/// How long a writer waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open database. Dropping it waits for the writes that are under way.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    writer: Writer,
    reader: Arc<Mutex<Connection>>,
    ownership: Arc<Ownership>,
    condition: Arc<Condition>,
    record_locks: RecordLocks,
    lost: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseError {
    /// Another process holds the lock for longer than a writer waits.
    #[error("the database is locked by another process: {0}")]
    Locked(String),
    /// The disk is full, read-only or failing, or a limit on the size of files is reached.
    #[error("the database cannot be written: {0}")]
    Unwritable(String),
    #[error("the database failed: {0}")]
    Sqlite(String),
    #[error("the database has version {found}, and this program knows versions up to {known}")]
    Version { found: i64, known: i64 },
    #[error("the lock of this process cannot be taken: {0}")]
    Lease(String),
    #[error("the database is closed")]
    Closed,
}

impl Database {
    /// Opens the file at a path that the caller chose, creating it when it is not there. `owner` names
    /// this process among those that use the file; no two may have the same name.
    pub fn open(path: &Path, owner: &str) -> Result<Arc<Database>, DatabaseError> {
        let mark = Mark::of(path);
        mark.forget_if_new(path);
        // The mark is read before the database: others may commit in between, and the mark must not be ahead then.
        let marked = mark.read();
        let writing = connect(path)?;
        schema::prepare(&writing)?;
        let lost = mark::lost(&writing, marked)?;
        if lost > 0 {
            mark::record(&writing, marked)?;
        }
        Database::of(path, path, owner, [writing, connect(path)?], mark, lost)
    }

    /// Opens a file that nobody writes, on a disk that may be read-only. Its log must be empty: SQLite does not read
    /// it here. A file of an older version is refused, since its tables cannot be brought up to date.
    pub fn open_immutable(path: &Path, owner: &str) -> Result<Arc<Database>, DatabaseError> {
        Database::reading(path, owner, || stave_sqlite::open_immutable(path))
    }

    fn reading(
        path: &Path,
        owner: &str,
        open: impl Fn() -> Result<Connection, rusqlite::Error>,
    ) -> Result<Arc<Database>, DatabaseError> {
        let connect = || -> Result<Connection, DatabaseError> {
            let connection = open()?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(connection)
        };
        let mark = Mark::of(path);
        let marked = mark.read();
        let reading = connect()?;
        let found: i64 = reading.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found != schema::VERSION {
            return Err(DatabaseError::Version { found, known: schema::VERSION });
        }
        let lost = mark::lost(&reading, marked)?;
        Database::of(path, path, owner, [reading, connect()?], mark, lost)
    }

    /// Opens a file to read what is in it and in its log, beside those that write it. Nothing is written, so a full disk is
    /// enough. The index of the log must be there. A file of an older version is refused.
    pub fn open_read_only(path: &Path, owner: &str) -> Result<Arc<Database>, DatabaseError> {
        Database::reading(path, owner, || stave_sqlite::open_read_only(path))
    }

    /// Opens a copy of a file and of its log, to read what is in them. What is written to the copy is lost. `original`
    /// says where the processes are known that use the file.
    pub fn open_copy(copy: &Path, original: &Path, owner: &str) -> Result<Arc<Database>, DatabaseError> {
        let marked = Mark::of(original).read();
        let writing = connect(copy)?;
        schema::prepare(&writing)?;
        let lost = mark::lost(&writing, marked)?;
        Database::of(copy, original, owner, [writing, connect(copy)?], Mark::of(copy), lost)
    }

    /// The folder that the file is in.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.path.parent()
    }

    fn of(
        path: &Path,
        original: &Path,
        owner: &str,
        [writing, reading]: [Connection; 2],
        mark: Mark,
        lost: u64,
    ) -> Result<Arc<Database>, DatabaseError> {
        let folder = original.parent().unwrap_or(Path::new("."));
        let condition = Arc::new(Condition::default());
        Ok(Arc::new(Database {
            path: path.to_path_buf(),
            writer: Writer::start(writing, Log::of(path), mark, Arc::clone(&condition))?,
            reader: Arc::new(Mutex::new(reading)),
            ownership: Arc::new(Ownership::new(Lease::new(folder.join("owners"), owner))),
            condition,
            record_locks: RecordLocks::default(),
            lost,
        }))
    }

    /// How many commits are known to be lost: the database's log was deleted or cut off, or an older copy of the
    /// database was put in its place.
    #[must_use]
    pub fn lost_commits(&self) -> u64 {
        self.lost
    }

    /// Later openings of the database do not report the commits that are lost.
    pub async fn accept_loss(&self) -> Result<(), DatabaseError> {
        self.write(|connection| Ok(mark::accept(connection)?)).await
    }

    /// Whether something that must be written, such as a run that was given back, is not on disk yet.
    #[must_use]
    pub fn has_deferred(&self) -> bool {
        self.condition.has_deferred()
    }

    /// Why the database cannot be written at the moment; `None` while it can be.
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
    pub(crate) fn record_locks(&self) -> &RecordLocks {
        &self.record_locks
    }

    pub(crate) fn lease(&self) -> &Lease {
        self.ownership.lease()
    }

    pub(crate) fn driving(&self) -> &Driving {
        self.ownership.driving()
    }

    /// What a write or read needs that asks who drives a run. It must not hold the database itself.
    pub(crate) fn ownership(&self) -> Arc<Ownership> {
        Arc::clone(&self.ownership)
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

    /// Reads in several statements that see one state of the database.
    pub(crate) async fn read_snapshot<T, E>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        self.read(move |connection| {
            let failed = |error: rusqlite::Error| E::from(DatabaseError::from(error));
            let snapshot = connection.unchecked_transaction().map_err(failed)?;
            work(&snapshot)
        })
        .await
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
        self.lease().end(!self.condition.has_deferred());
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
