//! The tables of the gateway's file, one script for each version of it.

use rusqlite::Connection;
use stave_sqlite::Unprepared;

use super::EvidenceError;

/// Times are microseconds since 1970 in UTC, days are counted from 1970, money is in billionths of a dollar.
///
/// `request` has one index only: every further one would cost each request more than a scan costs the few
/// who ask.
const TABLES: &str = "
CREATE TABLE virtual_key (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    models TEXT NOT NULL,
    requests_per_minute INTEGER,
    tokens_per_minute INTEGER,
    day_budget INTEGER,
    month_budget INTEGER,
    is_admin INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT;

CREATE TABLE key_secret (
    key TEXT NOT NULL,
    hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    ends_at INTEGER,
    PRIMARY KEY (key, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_spend (
    key TEXT NOT NULL,
    day INTEGER NOT NULL,
    money INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (key, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE request (
    number INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    id TEXT NOT NULL,
    key TEXT,
    tenant TEXT NOT NULL,
    session TEXT,
    surface TEXT NOT NULL,
    model_asked TEXT NOT NULL,
    upstream TEXT,
    model_used TEXT,
    status INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    streamed INTEGER NOT NULL,
    request_hash BLOB,
    sent_hash BLOB,
    response_hash BLOB,
    request_bytes INTEGER NOT NULL,
    response_bytes INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    cache_written_1h INTEGER NOT NULL,
    money INTEGER,
    money_as_sent INTEGER,
    breakpoints TEXT,
    not_planned TEXT,
    miss_place TEXT,
    miss_variable TEXT,
    miss_common INTEGER,
    miss_lost INTEGER,
    gates TEXT,
    failed_open TEXT,
    total_us INTEGER NOT NULL,
    waited_us INTEGER NOT NULL,
    own_us INTEGER NOT NULL,
    first_byte_us INTEGER
) STRICT;
CREATE INDEX request_by_time ON request (time);
";

/// What version 2 added.
const EDITS: &str = "ALTER TABLE request ADD COLUMN edits TEXT;";

/// What version 3 added: what requests under way have set aside. A row that nobody takes away belongs to a request
/// whose process ended, and counts as spent.
const HOLDS: &str = "
CREATE TABLE key_hold (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    day INTEGER NOT NULL,
    money INTEGER NOT NULL
) STRICT;
CREATE INDEX key_hold_by_key ON key_hold (key, day);
";

/// What version 4 added: the blocks of a request without their contents, and the block in which a request parted from
/// the one before it. `gates` is JSON from here on.
const BLOCKS: &str = "
ALTER TABLE request ADD COLUMN blocks BLOB;
ALTER TABLE request ADD COLUMN miss_block TEXT;
ALTER TABLE request ADD COLUMN miss_block_before TEXT;
";

/// One script for each version.
const SCRIPTS: [&str; 4] = [TABLES, EDITS, HOLDS, BLOCKS];

/// Makes or brings up to date the tables of a file.
pub(super) fn prepare(connection: &Connection) -> Result<(), EvidenceError> {
    stave_sqlite::prepare(connection, &SCRIPTS).map_err(unprepared)
}

/// Refuses a file of another version.
pub(super) fn check(connection: &Connection) -> Result<(), EvidenceError> {
    stave_sqlite::check_version(connection, &SCRIPTS).map_err(unprepared)
}

fn unprepared(unprepared: Unprepared) -> EvidenceError {
    match unprepared {
        Unprepared::Sqlite(error) => error.into(),
        Unprepared::Version { found, known } => EvidenceError::Version { found, known },
    }
}
