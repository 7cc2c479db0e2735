//! A planner's memory in a Redis server.
//!
//! Prefixes and beliefs are two hashes, and two sorted sets say when each was last seen, so that age and
//! number are bounded without looking at every record. A batch is one transaction.

use std::time::Duration;

use redis::{Client, Connection, Pipeline, RedisError, RedisResult};
use stave_block::{LayerRecord, NodeRecord, PlannerMemory, PlannerStore, StoreError, StoreLimits};

use crate::planner_packed::{pack_layer, pack_node, unpack_layer, unpack_node};

/// Keeps a planner's memory in a Redis server, under names that begin with the same word.
pub struct RedisPlannerStore {
    connection: Connection,
    prefixes: Table,
    beliefs: Table,
    scale: String,
}

/// A hash of records and the sorted set of the times at which they were last seen.
struct Table {
    records: String,
    ages: String,
}

/// A key and its record, as bytes.
type Packed = (Vec<u8>, Vec<u8>);

/// How long a connection, a question or an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many records are read or dropped at a time.
const BATCH: usize = 1000;

impl RedisPlannerStore {
    /// Connects to a server (`redis://host:port/database`). Planners that share a name share what they learn.
    pub fn open(url: &str, name: &str) -> Result<Self, StoreError> {
        Self::connect(url, name).map_err(failed)
    }

    fn connect(url: &str, name: &str) -> RedisResult<Self> {
        let connection = Client::open(url)?.get_connection_with_timeout(PATIENCE)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(RedisPlannerStore {
            connection,
            prefixes: Table::new(name, "prefix"),
            beliefs: Table::new(name, "belief"),
            scale: format!("{name}:cache:scale"),
        })
    }

    fn read(&mut self) -> RedisResult<PlannerMemory> {
        let scale: Option<f64> = redis::cmd("GET").arg(&self.scale).query(&mut self.connection)?;
        let mut nodes: Vec<NodeRecord> = self
            .prefixes
            .all(&mut self.connection)?
            .into_iter()
            .filter_map(|(key, bytes)| {
                unpack_node(u128::from_be_bytes(key.as_slice().try_into().ok()?), &bytes)
            })
            .collect();
        let mut layers: Vec<LayerRecord> = self
            .beliefs
            .all(&mut self.connection)?
            .into_iter()
            .filter_map(|(key, bytes)| {
                let (profile, code) = key.split_first_chunk::<8>()?;
                let code = u32::from_be_bytes(code.try_into().ok()?);
                unpack_layer(u64::from_be_bytes(*profile), code, &bytes)
            })
            .collect();
        // By age, so that a planner with less room keeps the younger ones.
        nodes.sort_by(|left, right| left.last_seen.total_cmp(&right.last_seen));
        layers.sort_by(|left, right| left.last_seen.total_cmp(&right.last_seen));
        Ok(PlannerMemory { bytes_per_token: scale, nodes, layers })
    }

    fn write(&mut self, changes: &PlannerMemory) -> RedisResult<()> {
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        if let Some(scale) = changes.bytes_per_token {
            pipeline.cmd("SET").arg(&self.scale).arg(scale).ignore();
        }
        for node in &changes.nodes {
            self.prefixes.put(&mut pipeline, &node.prefix.to_be_bytes(), &pack_node(node), node.last_seen);
        }
        for layer in &changes.layers {
            let key = [&layer.profile.to_be_bytes()[..], &layer.code.to_be_bytes()[..]].concat();
            self.beliefs.put(&mut pipeline, &key, &pack_layer(layer), layer.last_seen);
        }
        pipeline.query(&mut self.connection)
    }

    fn remove(&mut self, limits: &StoreLimits, now: f64) -> RedisResult<()> {
        let connection = &mut self.connection;
        self.prefixes.forget(connection, now - limits.lifetime_seconds, limits.capacity)?;
        self.beliefs.forget(connection, now - limits.belief_seconds, limits.capacity)
    }
}

fn failed(error: RedisError) -> StoreError {
    StoreError::new("the cache planner's Redis server", error)
}

impl std::fmt::Debug for RedisPlannerStore {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RedisPlannerStore").field("scale", &self.scale).finish_non_exhaustive()
    }
}

impl PlannerStore for RedisPlannerStore {
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

impl Table {
    fn new(name: &str, kind: &str) -> Self {
        Table { records: format!("{name}:cache:{kind}"), ages: format!("{name}:cache:{kind}:seen") }
    }

    fn put(&self, pipeline: &mut Pipeline, key: &[u8], record: &[u8], last_seen: f64) {
        pipeline.cmd("HSET").arg(&self.records).arg(key).arg(record).ignore();
        pipeline.cmd("ZADD").arg(&self.ages).arg(last_seen).arg(key).ignore();
    }

    fn all(&self, connection: &mut Connection) -> RedisResult<Vec<Packed>> {
        let mut all = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let (next, records): (u64, Vec<Packed>) = redis::cmd("HSCAN")
                .arg(&self.records)
                .arg(cursor)
                .arg("COUNT")
                .arg(BATCH)
                .query(connection)?;
            all.extend(records);
            cursor = next;
            if cursor == 0 {
                // A scan may give a record twice while others write.
                all.sort_unstable();
                all.dedup_by(|left, right| left.0 == right.0);
                return Ok(all);
            }
        }
    }

    /// Drops what was last seen before a time, then the oldest of what is beyond the capacity.
    fn forget(&self, connection: &mut Connection, before: f64, capacity: usize) -> RedisResult<()> {
        loop {
            let old: Vec<Vec<u8>> = redis::cmd("ZRANGEBYSCORE")
                .arg(&self.ages)
                .arg("-inf")
                .arg(format!("({before}"))
                .arg("LIMIT")
                .arg(0)
                .arg(BATCH)
                .query(connection)?;
            if old.is_empty() {
                break;
            }
            self.drop_all(connection, &old)?;
        }
        loop {
            let count: usize = redis::cmd("ZCARD").arg(&self.ages).query(connection)?;
            let surplus = count.saturating_sub(capacity).min(BATCH);
            if surplus == 0 {
                return Ok(());
            }
            let oldest: Vec<Vec<u8>> =
                redis::cmd("ZRANGE").arg(&self.ages).arg(0).arg(surplus - 1).query(connection)?;
            self.drop_all(connection, &oldest)?;
        }
    }

    fn drop_all(&self, connection: &mut Connection, keys: &[Vec<u8>]) -> RedisResult<()> {
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        pipeline.cmd("HDEL").arg(&self.records).arg(keys).ignore();
        pipeline.cmd("ZREM").arg(&self.ages).arg(keys).ignore();
        pipeline.query(connection)
    }
}
