//! Records in a table of a MySQL-compatible database: the state backend `hopsworks`.

use async_trait::async_trait;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, IsolationLevel, Transaction, TxOpts};
use stave_canon::{Timestamp, Value};
use stave_runtime::state::{Commit, Record, RecordKey, StateError, StateStore, apply, next_version};
use tokio::sync::OnceCell;

use crate::Mysql;
use crate::mysql::words;

/// How often a commit is tried again when the server picked it to end a deadlock.
const ROUNDS: usize = 16;
/// The server's codes for "you lost, try again": a deadlock, and a lock that was not given in time.
const TRY_AGAIN: [u16; 2] = [1213, 1205];

/// Keys are compared byte by byte: two sessions whose names differ in case are two sessions.
const TABLE: &str = "
CREATE TABLE IF NOT EXISTS stave_state_record (
    id CHAR(64) PRIMARY KEY,
    record_key LONGTEXT NOT NULL,
    fields LONGTEXT NOT NULL,
    version BIGINT NOT NULL,
    written_by TEXT NOT NULL,
    expires_at BIGINT,
    INDEX by_end (expires_at)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Keeps records in the table `stave_state_record`, which is made when it is not there.
#[derive(Debug)]
pub struct MysqlState {
    mysql: Mysql,
    /// Before every key, so that several projects can share a database.
    prefix: String,
    prepared: OnceCell<()>,
}

impl MysqlState {
    #[must_use]
    pub fn new(mysql: Mysql, prefix: &str) -> Self {
        MysqlState { mysql, prefix: prefix.to_owned(), prepared: OnceCell::new() }
    }

    fn key(&self, key: &RecordKey) -> String {
        format!("{}:{}", self.prefix, key.as_str())
    }

    async fn connection(&self) -> Result<Conn, StateError> {
        let mut connection = self.mysql.connection().await.map_err(StateError::Store)?;
        self.prepared
            .get_or_try_init(|| async { connection.query_drop(TABLE).await.map_err(|error| failed(&error)) })
            .await?;
        Ok(connection)
    }

    /// Makes a commit; `None` asks for another try.
    async fn try_commit(&self, commit: &Commit) -> Result<Option<()>, StateError> {
        let mut connection = self.connection().await?;
        let mut options = TxOpts::default();
        options.with_isolation_level(IsolationLevel::RepeatableRead);
        let mut transaction = connection.start_transaction(options).await.map_err(|error| failed(&error))?;
        match write(&mut transaction, &self.key(&commit.key), commit).await {
            Ok(()) => match transaction.commit().await {
                Ok(()) => Ok(Some(())),
                Err(error) => again(&error),
            },
            Err(Fault::State(error)) => {
                transaction.rollback().await.map_err(|error| failed(&error))?;
                Err(error)
            }
            Err(Fault::Server(error)) => {
                let _ = transaction.rollback().await;
                again(&error)
            }
        }
    }
}

enum Fault {
    State(StateError),
    Server(mysql_async::Error),
}

impl From<mysql_async::Error> for Fault {
    fn from(error: mysql_async::Error) -> Self {
        Fault::Server(error)
    }
}

#[async_trait]
impl StateStore for MysqlState {
    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Record, StateError> {
        let mut connection = self.connection().await?;
        let row: Option<Row> = connection
            .exec_first(
                "SELECT fields, version, written_by, expires_at FROM stave_state_record WHERE id = ?",
                (id(&self.key(key)),),
            )
            .await
            .map_err(|error| failed(&error))?;
        Ok(live(row, now)?.0)
    }

    async fn commit(&self, commit: Commit) -> Result<(), StateError> {
        for _ in 0..ROUNDS {
            if self.try_commit(&commit).await?.is_some() {
                return Ok(());
            }
        }
        Err(StateError::Conflict)
    }
}

type Row = (String, i64, String, Option<i64>);

async fn write(transaction: &mut Transaction<'_>, key: &str, commit: &Commit) -> Result<(), Fault> {
    // The row is locked from the read on, and so is the gap where a row that is not there would be.
    let row: Option<Row> = transaction
        .exec_first(
            "SELECT fields, version, written_by, expires_at FROM stave_state_record WHERE id = ? FOR UPDATE",
            (id(key),),
        )
        .await?;
    let stored = row.as_ref().map_or(0, |row| row.1);
    let (mut record, written_by) = live(row, commit.at).map_err(Fault::State)?;
    if written_by == commit.by {
        return Ok(());
    }
    if commit.read.is_some_and(|read| read != record.version) {
        return Err(Fault::State(StateError::Conflict));
    }
    apply(&mut record.fields, commit.writes.clone());
    transaction
        .exec_drop(
            "INSERT INTO stave_state_record (id, record_key, fields, version, written_by, expires_at)
             VALUES (?, ?, ?, ?, ?, ?)
             ON DUPLICATE KEY UPDATE fields = VALUES(fields), version = VALUES(version),
                 written_by = VALUES(written_by), expires_at = VALUES(expires_at)",
            (
                id(key),
                key,
                Value::Object(record.fields).to_string(),
                next_version(stored, commit.at),
                &commit.by,
                commit.expires_at.map(Timestamp::as_millisecond),
            ),
        )
        .await?;
    transaction
        .exec_drop(
            "DELETE FROM stave_state_record WHERE expires_at <= ? LIMIT 100",
            (commit.at.as_millisecond(),),
        )
        .await?;
    Ok(())
}

/// The record and who wrote it last; an empty one when it has ended.
fn live(row: Option<Row>, now: Timestamp) -> Result<(Record, String), StateError> {
    let Some((text, version, written_by, expires_at)) = row else { return Ok(Default::default()) };
    if expires_at.is_some_and(|end| end <= now.as_millisecond()) {
        return Ok(Default::default());
    }
    match stave_canon::parse(&text) {
        Ok(Value::Object(fields)) => Ok((Record { fields, version }, written_by)),
        Ok(_) => Err(StateError::Damaged("it is not an object".to_owned())),
        Err(error) => Err(StateError::Damaged(error.to_string())),
    }
}

/// A key of any length as the primary key of a table.
fn id(key: &str) -> String {
    stave_canon::sha256_hex(key)
}

fn again(error: &mysql_async::Error) -> Result<Option<()>, StateError> {
    match error {
        mysql_async::Error::Server(server) if TRY_AGAIN.contains(&server.code) => Ok(None),
        error => Err(StateError::Store(words(error))),
    }
}

fn failed(error: &mysql_async::Error) -> StateError {
    StateError::Store(words(error))
}
