//! A planner's memory in a SQLite file.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};
use stave_block::{LayerRecord, NodeRecord, PlannerMemory, PlannerStore, StoreError, StoreLimits};

/// Keeps a planner's memory in a SQLite file.
#[derive(Debug)]
pub struct SqlitePlannerStore(Connection);

/// How long a writer waits for another process. What a planner learned may be lost, so a wait is not worth much.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// The tables of a planner's file, and no others.
const TABLE_NAMES: [&str; 3] = ["cache_belief", "cache_prefix", "cache_scale"];

/// The version of the tables. A file of another version is emptied: what it held can be learned again.
const VERSION: i64 = 2;

const TABLES: &str = "
    DROP TABLE IF EXISTS cache_prefix;
    DROP TABLE IF EXISTS cache_belief;
    DROP TABLE IF EXISTS cache_scale;
    CREATE TABLE cache_prefix (
        prefix BLOB PRIMARY KEY,
        child BLOB NOT NULL,
        visits INTEGER NOT NULL,
        last_seen REAL NOT NULL,
        short REAL NOT NULL, medium REAL NOT NULL, late REAL NOT NULL,
        line_short REAL NOT NULL, line_medium REAL NOT NULL,
        branched INTEGER NOT NULL, tail INTEGER NOT NULL,
        ttl TEXT, readable REAL, expires REAL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX cache_prefix_by_age ON cache_prefix (last_seen);
    CREATE TABLE cache_belief (
        profile BLOB NOT NULL, code INTEGER NOT NULL,
        last_seen REAL NOT NULL,
        short REAL NOT NULL, medium REAL NOT NULL, never REAL NOT NULL,
        gap_sum REAL NOT NULL, gap_count REAL NOT NULL,
        PRIMARY KEY (profile, code)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE cache_scale (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        bytes_per_token REAL NOT NULL
    ) STRICT;";

impl SqlitePlannerStore {
    /// Opens the store at a path that the caller chose, creating the file when it is not there.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_file(path).map_err(failed)
    }

    /// When the planner of a file that is there last learned something, in seconds since 1970; 0 when it never did, and
    /// `None` for a file that no planner made.
    #[must_use]
    pub fn last_learned(path: &Path) -> Option<f64> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).ok()?;
        connection.busy_timeout(Duration::ZERO).ok()?;
        read_last_learned(&connection).ok()?
    }

    /// Whether a planner made this file and nobody has it open. Its log is empty then, and everything is in the file.
    #[must_use]
    pub fn is_unused(path: &Path) -> bool {
        let leave_log = || -> rusqlite::Result<bool> {
            let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.busy_timeout(Duration::ZERO)?;
            if read_last_learned(&connection)?.is_none() {
                return Ok(false);
            }
            // Nobody leaves the write-ahead log while another connection is open.
            let mode: String = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
            Ok(mode == "delete")
        };
        leave_log().unwrap_or(false)
    }

    /// The same behind the port.
    pub fn open_boxed(path: &Path) -> Result<Box<dyn PlannerStore>, StoreError> {
        Ok(Box::new(Self::open(path)?))
    }

    fn open_file(path: &Path) -> rusqlite::Result<Self> {
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != VERSION {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
        Ok(SqlitePlannerStore(connection))
    }

    fn read(&mut self) -> rusqlite::Result<PlannerMemory> {
        let mut memory = PlannerMemory::default();
        let mut scale = self.0.prepare("SELECT bytes_per_token FROM cache_scale")?;
        memory.bytes_per_token = scale.query_map([], |row| row.get(0))?.next().transpose()?;
        // By age, so that a planner with less room keeps the younger ones.
        let mut nodes = self.0.prepare(
            "SELECT prefix, child, visits, last_seen, short, medium, late, line_short, line_medium,
                    branched, tail, ttl, readable, expires FROM cache_prefix ORDER BY last_seen",
        )?;
        memory.nodes = nodes.query_map([], node)?.collect::<Result<_, _>>()?;
        let mut layers = self.0.prepare(
            "SELECT profile, code, last_seen, short, medium, never, gap_sum, gap_count
             FROM cache_belief ORDER BY last_seen",
        )?;
        memory.layers = layers.query_map([], layer)?.collect::<Result<_, _>>()?;
        Ok(memory)
    }

    fn write(&mut self, changes: &PlannerMemory) -> rusqlite::Result<()> {
        let transaction = self.0.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        if let Some(scale) = changes.bytes_per_token {
            transaction.execute("INSERT OR REPLACE INTO cache_scale VALUES (1, ?1)", [scale])?;
        }
        {
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO cache_prefix
                 VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
            )?;
            for node in &changes.nodes {
                let entry = node.entry_columns();
                insert.execute(params![
                    node.prefix.to_be_bytes(),
                    node.child.to_be_bytes(),
                    node.visits,
                    node.last_seen,
                    f64::from(node.gaps[0]),
                    f64::from(node.gaps[1]),
                    f64::from(node.gaps[2]),
                    f64::from(node.lineage[0]),
                    f64::from(node.lineage[1]),
                    node.branched,
                    node.tail,
                    entry.map(|entry| entry.0),
                    entry.map(|entry| entry.1),
                    entry.map(|entry| entry.2),
                ])?;
            }
            let mut insert = transaction
                .prepare_cached("INSERT OR REPLACE INTO cache_belief VALUES (?1,?2,?3,?4,?5,?6,?7,?8)")?;
            for layer in &changes.layers {
                let [short, medium, never, sum, count] = layer.counts;
                let profile = layer.profile.to_be_bytes();
                insert.execute(params![
                    profile,
                    layer.code,
                    layer.last_seen,
                    short,
                    medium,
                    never,
                    sum,
                    count
                ])?;
            }
        }
        transaction.commit()
    }

    fn remove(&mut self, limits: &StoreLimits, now: f64) -> rusqlite::Result<()> {
        let transaction = self.0.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let capacity = i64::try_from(limits.capacity).unwrap_or(i64::MAX);
        transaction
            .execute("DELETE FROM cache_prefix WHERE last_seen < ?1", [now - limits.lifetime_seconds])?;
        transaction
            .execute("DELETE FROM cache_belief WHERE last_seen < ?1", [now - limits.belief_seconds])?;
        transaction.execute(
            "DELETE FROM cache_prefix WHERE prefix IN
                (SELECT prefix FROM cache_prefix ORDER BY last_seen DESC, prefix LIMIT -1 OFFSET ?1)",
            [capacity],
        )?;
        transaction.execute(
            "DELETE FROM cache_belief WHERE (profile, code) IN
                (SELECT profile, code FROM cache_belief ORDER BY last_seen DESC LIMIT -1 OFFSET ?1)",
            [capacity],
        )?;
        transaction.commit()
    }
}

impl PlannerStore for SqlitePlannerStore {
    fn load(&mut self) -> Result<PlannerMemory, StoreError> {
        self.read().map_err(failed)
    }

    fn record(&mut self, changes: &PlannerMemory) -> Result<(), StoreError> {
        self.write(changes).map_err(failed)
    }

    fn forget(&mut self, limits: &StoreLimits, now: f64) -> Result<(), StoreError> {
        self.remove(limits, now).map_err(failed)
    }
}

fn read_last_learned(connection: &Connection) -> rusqlite::Result<Option<f64>> {
    let mut names =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if names != TABLE_NAMES {
        return Ok(None);
    }
    connection.query_row(
        "SELECT max(coalesce((SELECT max(last_seen) FROM cache_prefix), 0.0),
                    coalesce((SELECT max(last_seen) FROM cache_belief), 0.0))",
        [],
        |row| row.get(0),
    )
}

fn failed(error: rusqlite::Error) -> StoreError {
    StoreError::new("the cache planner's file", error)
}

fn node(row: &Row<'_>) -> rusqlite::Result<NodeRecord> {
    let ttl: Option<String> = row.get(11)?;
    let times: (Option<f64>, Option<f64>) = (row.get(12)?, row.get(13)?);
    let entry = match (ttl, times) {
        (Some(ttl), (Some(readable), Some(expires))) => NodeRecord::entry_from(&ttl, readable, expires),
        _ => None,
    };
    Ok(NodeRecord {
        prefix: u128::from_be_bytes(row.get(0)?),
        child: u128::from_be_bytes(row.get(1)?),
        visits: row.get(2)?,
        last_seen: row.get(3)?,
        gaps: [single(row, 4)?, single(row, 5)?, single(row, 6)?],
        lineage: [single(row, 7)?, single(row, 8)?],
        branched: row.get(9)?,
        tail: row.get(10)?,
        entry,
    })
}

fn layer(row: &Row<'_>) -> rusqlite::Result<LayerRecord> {
    Ok(LayerRecord {
        profile: u64::from_be_bytes(row.get(0)?),
        code: row.get(1)?,
        last_seen: row.get(2)?,
        counts: [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?],
    })
}

fn single(row: &Row<'_>, index: usize) -> rusqlite::Result<f32> {
    Ok(row.get::<_, f64>(index)? as f32)
}
