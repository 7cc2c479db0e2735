//! Where a planner's memory outlives the process: in memory for those who need none, or in a SQLite file.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use thiserror::Error;

use crate::{LayerRecord, NodeRecord, PlannerMemory};

/// Why a store could not be read or written.
#[derive(Debug, Error)]
#[error("the cache planner's store: {0}")]
pub struct StoreError(#[from] rusqlite::Error);

/// Keeps what a planner has learned.
pub trait PlannerStore: Send {
    fn load(&mut self) -> Result<PlannerMemory, StoreError>;
    fn save(&mut self, memory: &PlannerMemory) -> Result<(), StoreError>;
}

/// Keeps it as long as the process lives.
#[derive(Debug, Default)]
pub struct MemoryStore(PlannerMemory);

/// Keeps it in a SQLite file.
#[derive(Debug)]
pub struct SqlitePlannerStore(Connection);

/// How long a writer waits for another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

impl PlannerStore for MemoryStore {
    fn load(&mut self) -> Result<PlannerMemory, StoreError> {
        Ok(self.0.clone())
    }

    fn save(&mut self, memory: &PlannerMemory) -> Result<(), StoreError> {
        self.0 = memory.clone();
        Ok(())
    }
}

impl SqlitePlannerStore {
    /// Opens the store at a path that the caller chose, creating the file when it is not there.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS cache_prefix (
                prefix BLOB PRIMARY KEY,
                child BLOB NOT NULL,
                visits INTEGER NOT NULL,
                last_seen REAL NOT NULL,
                short REAL NOT NULL, medium REAL NOT NULL, late REAL NOT NULL,
                line_short REAL NOT NULL, line_medium REAL NOT NULL,
                branched INTEGER NOT NULL, tail INTEGER NOT NULL,
                ttl TEXT, readable REAL, expires REAL
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS cache_belief (
                profile BLOB NOT NULL, code INTEGER NOT NULL,
                short REAL NOT NULL, medium REAL NOT NULL, never REAL NOT NULL,
                gap_sum REAL NOT NULL, gap_count REAL NOT NULL,
                PRIMARY KEY (profile, code)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS cache_scale (bytes_per_token REAL NOT NULL) STRICT;",
        )?;
        Ok(SqlitePlannerStore(connection))
    }
}

impl PlannerStore for SqlitePlannerStore {
    fn load(&mut self) -> Result<PlannerMemory, StoreError> {
        let mut memory = PlannerMemory::default();
        let mut scale = self.0.prepare("SELECT bytes_per_token FROM cache_scale LIMIT 1")?;
        memory.bytes_per_token = scale.query_map([], |row| row.get(0))?.next().transpose()?;
        let mut nodes = self.0.prepare(
            "SELECT prefix, child, visits, last_seen, short, medium, late, line_short, line_medium,
                    branched, tail, ttl, readable, expires FROM cache_prefix",
        )?;
        let rows = nodes.query_map([], |row| {
            let ttl: Option<String> = row.get(11)?;
            let times: (Option<f64>, Option<f64>) = (row.get(12)?, row.get(13)?);
            let entry = match (ttl, times) {
                (Some(ttl), (Some(readable), Some(expires))) => {
                    NodeRecord::entry_from(&ttl, readable, expires)
                }
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
        })?;
        memory.nodes = rows.collect::<Result<_, _>>()?;
        let mut layers = self
            .0
            .prepare("SELECT profile, code, short, medium, never, gap_sum, gap_count FROM cache_belief")?;
        let rows = layers.query_map([], |row| {
            Ok(LayerRecord {
                profile: u64::from_be_bytes(row.get(0)?),
                code: row.get(1)?,
                counts: [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?],
            })
        })?;
        memory.layers = rows.collect::<Result<_, _>>()?;
        Ok(memory)
    }

    fn save(&mut self, memory: &PlannerMemory) -> Result<(), StoreError> {
        let transaction = self.0.transaction()?;
        transaction
            .execute_batch("DELETE FROM cache_prefix; DELETE FROM cache_belief; DELETE FROM cache_scale;")?;
        if let Some(scale) = memory.bytes_per_token {
            transaction.execute("INSERT INTO cache_scale VALUES (?1)", [scale])?;
        }
        {
            let mut insert = transaction.prepare(
                "INSERT INTO cache_prefix VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
            )?;
            for node in &memory.nodes {
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
            let mut insert = transaction.prepare("INSERT INTO cache_belief VALUES (?1,?2,?3,?4,?5,?6,?7)")?;
            for layer in &memory.layers {
                let [short, medium, never, sum, count] = layer.counts;
                let profile = layer.profile.to_be_bytes();
                insert.execute(params![profile, layer.code, short, medium, never, sum, count])?;
            }
        }
        Ok(transaction.commit()?)
    }
}

fn single(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<f32> {
    Ok(row.get::<_, f64>(index)? as f32)
}
