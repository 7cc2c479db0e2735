//! The tables, and the version by which a file says which tables it has.

use rusqlite::{Connection, TransactionBehavior};

use super::DatabaseError;

/// The version of the tables below.
const VERSION: i64 = 2;

const TABLES: &str = "
CREATE TABLE document (
    hash TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE run (
    id TEXT PRIMARY KEY,
    flow TEXT NOT NULL,
    document TEXT NOT NULL,
    request TEXT NOT NULL,
    had_auth INTEGER NOT NULL,
    replay_of TEXT,
    started_at INTEGER NOT NULL,
    owner TEXT NOT NULL,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL,
    ended_at INTEGER,
    result TEXT,
    idle TEXT
) STRICT;
CREATE INDEX run_by_start ON run (started_at);
CREATE INDEX run_by_document ON run (document);

CREATE TABLE step (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    node TEXT NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (run, node)
) STRICT;

CREATE TABLE call (
    run TEXT NOT NULL,
    node TEXT NOT NULL,
    number INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (run, node, number)
) STRICT;

CREATE TABLE decision (
    run TEXT NOT NULL,
    node TEXT NOT NULL,
    decision TEXT NOT NULL,
    PRIMARY KEY (run, node)
) STRICT;

CREATE TABLE state_record (
    key TEXT PRIMARY KEY,
    fields TEXT NOT NULL,
    version INTEGER NOT NULL,
    written_by TEXT NOT NULL,
    expires_at INTEGER
) STRICT;
CREATE INDEX state_record_by_end ON state_record (expires_at) WHERE expires_at IS NOT NULL;
";

/// What version 2 added.
const CACHED_RESULTS: &str = "
CREATE TABLE cached_result (
    key TEXT PRIMARY KEY,
    outputs TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX cached_result_by_end ON cached_result (expires_at);
";

/// Makes the tables of an empty file, brings an older file up to date, and refuses a file of a later version.
pub(super) fn prepare(connection: &Connection) -> Result<(), DatabaseError> {
    let version = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
    };
    if version(connection)? == VERSION {
        return Ok(());
    }
    // Two processes may find an empty file at the same time; the second one looks again under the lock.
    let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    match version(&transaction)? {
        found @ (0 | 1) => {
            if found == 0 {
                transaction.execute_batch(TABLES)?;
            }
            transaction.execute_batch(CACHED_RESULTS)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
            Ok(())
        }
        VERSION => Ok(()),
        found => Err(DatabaseError::Version { found, known: VERSION }),
    }
}
