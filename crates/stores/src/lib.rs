//! State and features on servers that several machines share: Redis, and databases that speak MySQL's protocol.
//!
//! Tables of features come in from CSV and Parquet files.
//!
//! Each store keeps the promises of the runtime's ports: a commit is made once and whole, or not at all; a
//! record that changed since it was read is a conflict; a read of features never sees a later row. The same
//! suite of tests holds for all of them and for the stores of the runtime.
//!
//! Invariant: no error carries an address, because addresses carry passwords.

mod mysql;
mod mysql_features;
mod mysql_state;
mod mysql_table;
mod redis_state;
mod table_file;

pub use mysql::{AddressError, Mysql};
pub use mysql_features::MysqlFeatures;
pub use mysql_state::MysqlState;
pub use redis_state::RedisState;
pub use table_file::{TableFault, csv_rows, parquet_rows};
