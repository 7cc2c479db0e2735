//! How long records are kept, and how much room they may take.

use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};
use stave_canon::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many records are taken away at a time, so that writing does not wait long.
const AT_ONCE: i64 = 20_000;
/// How much of the file is given back to the system at a time, in pages.
const PAGES_AT_ONCE: u32 = 2_000;
/// What keys spent is needed for the month; a year of it is kept for those who ask.
const DAYS_OF_SPENDING: i64 = 400;

/// When records go. The oldest go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRetention {
    pub max_age: Duration,
    /// Of the whole file.
    pub max_bytes: u64,
}

impl Default for RecordRetention {
    fn default() -> Self {
        RecordRetention { max_age: 90 * DAY, max_bytes: 1 << 30 }
    }
}

/// Takes away what is too old, and then the oldest until the file is small enough. Does a bounded part of it,
/// and is called again.
pub(crate) fn retain(
    connection: &Connection,
    retention: &RecordRetention,
    now: Timestamp,
) -> Result<usize, rusqlite::Error> {
    let age = i64::try_from(retention.max_age.as_micros()).unwrap_or(i64::MAX);
    let oldest = now.as_microsecond().saturating_sub(age);
    let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let mut gone = transaction.execute(
        "DELETE FROM request WHERE number IN
            (SELECT number FROM request WHERE time < ?1 ORDER BY time LIMIT ?2)",
        params![oldest, AT_ONCE],
    )?;
    if used_bytes(&transaction)? > retention.max_bytes {
        gone += transaction.execute(
            "DELETE FROM request WHERE number IN (SELECT number FROM request ORDER BY time LIMIT ?1)",
            [AT_ONCE],
        )?;
    }
    let today = now.as_second().div_euclid(24 * 60 * 60);
    transaction.execute("DELETE FROM key_spend WHERE day < ?1", [today - DAYS_OF_SPENDING])?;
    transaction.commit()?;
    // What one call does not give back the next one does, whether or not it takes records away itself.
    if connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0))? > 0 {
        stave_sqlite::free_pages(connection, PAGES_AT_ONCE)?;
    }
    Ok(gone)
}

/// The bytes of the file that hold something.
fn used_bytes(connection: &Connection) -> Result<u64, rusqlite::Error> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
    Ok(pages.saturating_mul(pragma("page_size")?).unsigned_abs())
}
