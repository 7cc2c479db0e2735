//! The gateway's SQLite file: virtual keys, what they spent, and a record of every request.
//!
//! Invariant: requests do not wait for the file, those of keys with a budget excepted: what they may cost is in the file
//! before they are sent, so that neither a crash nor another process makes more of a budget than it is. What requests
//! leave behind goes to a queue, and one thread writes it in groups. A group is in the file as a whole or not at all, and
//! nothing leaves the queue before it is.

mod queue;
mod schema;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use stave_canon::Clock;

pub(crate) use self::queue::{Entry, Hold, Queue, Spend};
use self::writer::Writer;
use crate::keys::VirtualKeys;
use crate::records::{RecordRetention, RecordSink};

/// How long a writer waits for another process before it gives up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The file's name in a project's `.stave` folder.
pub const FILE: &str = "gateway.sqlite";

/// An open file. Dropping it writes out everything that was appended.
#[derive(Debug)]
pub struct Evidence {
    path: Arc<Path>,
    keys: Arc<VirtualKeys>,
    queue: Arc<Queue>,
    /// Joined when the file is closed.
    _writer: Writer,
}

/// How much is held in memory and in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceSettings {
    /// How many entries may wait to be written before no further request should be taken in.
    pub queue: usize,
    /// How long entries gather before they are written together.
    pub gather: Duration,
    pub retention: RecordRetention,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        EvidenceSettings {
            queue: 65_536,
            gather: Duration::from_millis(100),
            retention: RecordRetention::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    #[error("the gateway's database failed: {0}")]
    Sqlite(String),
    #[error("the gateway's database has version {found}, and this program knows versions up to {known}")]
    Version { found: i64, known: i64 },
    #[error("the gateway's database holds something unreadable: {0}")]
    Damaged(String),
    #[error("the writer of the gateway's database cannot be started: {0}")]
    Thread(String),
}

impl Evidence {
    /// Opens the file at a path that the caller chose, creating it when it is not there.
    pub fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        settings: EvidenceSettings,
    ) -> Result<Evidence, EvidenceError> {
        let connection = connect(path)?;
        let queue = Arc::new(Queue::new(settings.queue));
        // Asked before the keys are read: what changes between the two is read again.
        let read_at = writer::data_version(&connection)?;
        let keys = Arc::new(VirtualKeys::load(&connection, Arc::clone(&queue), Arc::clone(&clock))?);
        let writer =
            Writer::start(connection, Arc::clone(&queue), Arc::clone(&keys), clock, settings, read_at)?;
        Ok(Evidence { path: Arc::from(path), keys, queue, _writer: writer })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn keys(&self) -> Arc<VirtualKeys> {
        Arc::clone(&self.keys)
    }

    #[must_use]
    pub fn sink(&self) -> RecordSink {
        RecordSink::new(Arc::clone(&self.queue), Arc::clone(&self.path))
    }

    /// Waits until everything that was appended before is in the file. Blocks the thread.
    pub fn flush(&self) {
        self.queue.flush();
    }
}

/// Opens the file for those who only read it, also where nothing can be written. On a full disk, opening it for writing
/// would spoil the index of the log, so that comes second.
pub(crate) fn connect_to_read(path: &Path) -> Result<Connection, EvidenceError> {
    let checked = |opened: Result<Connection, rusqlite::Error>| -> Result<Connection, EvidenceError> {
        let connection = opened?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        schema::check(&connection)?;
        Ok(connection)
    };
    let immutable = |error: EvidenceError| match stave_sqlite::log_bytes(path) {
        0 => checked(stave_sqlite::open_immutable(path)).map_err(|_| error),
        _ => Err(error),
    };
    checked(stave_sqlite::open_read_only(path)).or_else(|_| connect(path)).or_else(immutable)
}

/// Opens the file for a reader that is not the gateway.
pub(crate) fn connect(path: &Path) -> Result<Connection, EvidenceError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Of use for a file that has no tables yet; an older one keeps what it has.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A crash of the process loses nothing that was committed; only a crash of the machine may take the last
    // groups with it, and waiting for the disk would buy little, because a group is late by itself.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    schema::prepare(&connection)?;
    Ok(connection)
}

impl From<rusqlite::Error> for EvidenceError {
    fn from(error: rusqlite::Error) -> Self {
        EvidenceError::Sqlite(error.to_string())
    }
}
