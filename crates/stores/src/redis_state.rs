//! Records in a Redis server.
//!
//! A record is a hash with its fields as JSON text, its version and who wrote it last. A commit reads it,
//! applies the writes here, where numbers stay exact, and puts the result back by a script that does so only
//! when the version is still the one that was read.

use std::time::Duration;

use async_trait::async_trait;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisError, Script};
use stave_canon::{Timestamp, Value};
use stave_runtime::state::{Commit, Record, RecordKey, StateError, StateStore, apply, next_version};
use tokio::sync::OnceCell;

use crate::AddressError;

/// How long a connection or an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a write that nobody read for is tried again when others write at the same time.
const ROUNDS: usize = 64;
/// How much longer than its time a record stays, so that the clock of the run decides and not the server's.
const GRACE: Duration = Duration::from_secs(60);

/// Puts a record in place when its version is the expected one.
const REPLACE: &str = r"
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'fields', ARGV[2], 'version', ARGV[3], 'written_by', ARGV[4], 'expires_at', ARGV[5])
if ARGV[6] == '' then redis.call('PERSIST', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[6]) end
return 1";

/// Keeps records in a Redis server, under keys that begin with the same word.
pub struct RedisState {
    client: Client,
    connection: OnceCell<ConnectionManager>,
    prefix: String,
    replace: Script,
}

impl RedisState {
    /// A store at an address like `redis://host:6379/0`. The connection is made when it is first needed,
    /// and made again when it is lost.
    pub fn new(address: &str, prefix: &str) -> Result<Self, AddressError> {
        let client =
            Client::open(address).map_err(|_| AddressError { wanted: "redis://host:port/number" })?;
        Ok(RedisState {
            client,
            connection: OnceCell::new(),
            prefix: prefix.to_owned(),
            replace: Script::new(REPLACE),
        })
    }

    async fn connection(&self) -> Result<ConnectionManager, StateError> {
        let connect = || {
            let config = ConnectionManagerConfig::new()
                .set_number_of_retries(1)
                .set_connection_timeout(Some(PATIENCE))
                .set_response_timeout(Some(PATIENCE));
            self.client.get_connection_manager_with_config(config)
        };
        self.connection.get_or_try_init(connect).await.cloned().map_err(|error| failed(&error))
    }

    fn place(&self, key: &RecordKey) -> String {
        format!("{}:state:{}", self.prefix, key.as_str())
    }

    async fn kept(&self, key: &RecordKey, now: Timestamp) -> Result<Kept, StateError> {
        let mut connection = self.connection().await?;
        let found: (Option<String>, Option<i64>, Option<String>, Option<String>) = redis::cmd("HMGET")
            .arg(self.place(key))
            .arg(&["fields", "version", "written_by", "expires_at"])
            .query_async(&mut connection)
            .await
            .map_err(|error| failed(&error))?;
        let (Some(text), Some(version), written_by, expires_at) = found else { return Ok(Kept::default()) };
        let end = expires_at.and_then(|end| end.parse::<i64>().ok());
        if end.is_some_and(|end| end <= now.as_millisecond()) {
            // It has ended for the run, and the server will drop it soon; until then its version counts.
            return Ok(Kept { stored: version, ..Kept::default() });
        }
        let fields = match stave_canon::parse(&text) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err(StateError::Damaged("it is not an object".to_owned())),
            Err(error) => return Err(StateError::Damaged(error.to_string())),
        };
        let written_by = written_by.unwrap_or_default();
        Ok(Kept { record: Record { fields, version }, stored: version, written_by })
    }
}

/// A record as the server has it.
#[derive(Debug, Default)]
struct Kept {
    record: Record,
    /// The version on the server, also of a record that has ended.
    stored: i64,
    written_by: String,
}

#[async_trait]
impl StateStore for RedisState {
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Record, StateError> {
        Ok(self.kept(key, now).await?.record)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StateError> {
        let place = self.place(&commit.key);
        let until = commit.expires_at.map(Timestamp::as_millisecond);
        let stay = until.map(|until| {
            let left = u64::try_from(until.saturating_sub(commit.at.as_millisecond())).unwrap_or_default();
            Duration::from_millis(left).saturating_add(GRACE).as_millis().to_string()
        });
        for _ in 0..ROUNDS {
            let Kept { mut record, stored, written_by } = self.kept(&commit.key, commit.at).await?;
            if written_by == commit.by {
                return Ok(());
            }
            if commit.read.is_some_and(|read| read != record.version) {
                return Err(StateError::Conflict);
            }
            apply(&mut record.fields, commit.writes.clone());
            let mut connection = self.connection().await?;
            let replaced: bool = self
                .replace
                .key(&place)
                .arg(stored)
                .arg(Value::Object(record.fields).to_string())
                .arg(next_version(stored, commit.at))
                .arg(&commit.by)
                .arg(until.map(|until| until.to_string()).unwrap_or_default())
                .arg(stay.as_deref().unwrap_or_default())
                .invoke_async(&mut connection)
                .await
                .map_err(|error| failed(&error))?;
            if replaced {
                return Ok(());
            }
        }
        Err(StateError::Conflict)
    }
}

impl std::fmt::Debug for RedisState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RedisState").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// The kind and the server's words, and not the address, which the library's own text may hold.
fn failed(error: &RedisError) -> StateError {
    let words = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    StateError::Store(format!("Redis: {:?}{words}", error.kind()))
}
