//! Every state store keeps the same promises, and says nothing of its address when it fails.

use std::sync::Arc;

use stave_runtime::database::Database;
use stave_runtime::state::{MemoryStore, RecordKey, SqliteStore, StateStore};
use stave_stores::{Mysql, MysqlState, RedisState};

use super::contract::{at, holds};
use super::server;

/// A record that every store has once it has kept its promises.
fn kept() -> RecordKey {
    RecordKey::new("flow", "session", "plain", "node")
}

#[tokio::test]
async fn the_store_in_memory_keeps_its_promises() {
    holds(Arc::new(MemoryStore::new())).await;
}

#[tokio::test]
async fn the_store_in_a_file_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("stave.sqlite"), "test").unwrap();
    holds(Arc::new(SqliteStore::new(database))).await;
}

#[tokio::test]
async fn redis_keeps_its_promises() {
    let server = server::redis();
    holds(Arc::new(RedisState::new(&server.address, "stave").unwrap())).await;
    // Two projects on one server do not meet.
    let other = RedisState::new(&server.address, "other").unwrap();
    assert_eq!(other.load(&kept(), at(0)).await.unwrap().version, 0);
}

#[tokio::test]
async fn mariadb_keeps_its_promises() {
    let server = server::mariadb();
    holds(Arc::new(MysqlState::new(Mysql::new(&server.address).unwrap(), "stave"))).await;
    // Two projects in one database do not meet.
    let other = MysqlState::new(Mysql::new(&server.address).unwrap(), "other");
    assert_eq!(other.load(&kept(), at(0)).await.unwrap().version, 0);
}

#[tokio::test]
async fn a_store_that_is_gone_says_so_without_its_address() {
    let key = RecordKey::new("flow", "session", "s", "node");
    let redis = RedisState::new("redis://:hunter2@127.0.0.1:1/0", "stave").unwrap();
    let mysql = MysqlState::new(Mysql::new("mysql://u:hunter2@127.0.0.1:1/d").unwrap(), "stave");
    for store in [&redis as &dyn StateStore, &mysql] {
        let error = store.load(&key, at(0)).await.unwrap_err().to_string();
        assert!(error.starts_with("the state store failed"), "{error}");
        assert!(!error.contains("hunter2") && !format!("{store:?}").contains("hunter2"), "{error}");
    }
    let error = Mysql::new("mysql://u:hunter2@127.0.0.1:1").unwrap_err().to_string();
    assert!(error.contains("mysql://") && !error.contains("hunter2"), "{error}");
    assert!(RedisState::new("http://:hunter2@x", "stave").is_err());
}
