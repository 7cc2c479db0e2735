//! The tables, one script for each version of the file.

use rusqlite::Connection;
use stave_sqlite::Unprepared;

use super::{DatabaseError, segments};

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

/// What version 3 added: who drives a run and since when, how often its driver died, and a row that is written to
/// find out whether the file can be.
const DRIVERS: &str = "
ALTER TABLE run ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN claimed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;
CREATE INDEX run_by_status ON run (status, started_at);
CREATE TABLE writable (probes INTEGER NOT NULL) STRICT;
INSERT INTO writable VALUES (0);
";

/// What version 4 added: when the request of a run arrived, where that is not when the run began, as in a replay.
const ARRIVALS: &str = "
ALTER TABLE run ADD COLUMN arrived_at INTEGER;
";

/// What version 5 added: what a run was asked for, so that the same request is known again; and how many commits the
/// database has had and has lost.
const STARTS_AND_COMMITS: &str = "
ALTER TABLE run ADD COLUMN request_digest TEXT;
CREATE TABLE commits (number INTEGER NOT NULL, lost INTEGER NOT NULL) STRICT;
INSERT INTO commits VALUES (0, 0);
";

/// What version 7 added: the digest of the `auth` that a run was started with, see [`crate::request::auth_digest`].
const AUTH_DIGESTS: &str = "
ALTER TABLE run ADD COLUMN auth_digest TEXT;
";

/// Version 6 added lists and texts that records refer to.
const SCRIPTS: [&str; 7] =
    [TABLES, CACHED_RESULTS, DRIVERS, ARRIVALS, STARTS_AND_COMMITS, segments::TABLES, AUTH_DIGESTS];

/// The version of this program's tables.
pub(super) const VERSION: i64 = SCRIPTS.len() as i64;

/// Makes or brings up to date the tables of a file.
pub(super) fn prepare(connection: &Connection) -> Result<(), DatabaseError> {
    stave_sqlite::prepare(connection, &SCRIPTS).map_err(|unprepared| match unprepared {
        Unprepared::Sqlite(error) => error.into(),
        Unprepared::Version { found, known } => DatabaseError::Version { found, known },
    })
}
