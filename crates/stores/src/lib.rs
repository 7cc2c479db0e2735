//! State and features on servers that several machines share: Redis, and databases that speak MySQL's protocol.
//!
//! Tables of features come in from CSV and Parquet files. What a cache planner learned is kept here too, in a SQLite file
//! of one machine or in Redis.
//!
//! Each store keeps the promises of the runtime's ports: a commit is made once and whole, or not at all; a
//! record that changed since it was read is a conflict; a read of features never sees a later row. The same
//! suite of tests holds for all of them and for the stores of the runtime.
//!
//! Invariant: no error carries an address, because addresses carry passwords.

mod address;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "mysql")]
mod mysql_features;
#[cfg(feature = "mysql")]
mod mysql_state;
#[cfg(feature = "mysql")]
mod mysql_table;
#[cfg(feature = "parquet")]
mod parquet_file;
mod planner_packed;
mod planner_redis;
mod planner_sqlite;
mod redis_state;
mod table_file;

pub use address::AddressError;
#[cfg(feature = "mysql")]
pub use mysql::Mysql;
#[cfg(feature = "mysql")]
pub use mysql_features::MysqlFeatures;
#[cfg(feature = "mysql")]
pub use mysql_state::MysqlState;
#[cfg(feature = "parquet")]
pub use parquet_file::parquet_rows;
pub use planner_redis::RedisPlannerStore;
pub use planner_sqlite::SqlitePlannerStore;
pub use redis_state::RedisState;
pub use table_file::{TableFault, csv_rows};
