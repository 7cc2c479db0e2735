//! Reading statistics out of the file.

use std::path::Path;

use rusqlite::{Connection, Row, params};
use stave_canon::Timestamp;

use super::{Bucket, By, Latency, MissGroup, Stats, StatsGroup, StatsQuery, Sums};
use crate::database::{EvidenceError, connect_to_read};

/// Columns of [`Sums`], in their order.
const SUMS: &str = "
    COUNT(*), SUM(outcome = 'answered'), SUM(outcome = 'refused'), SUM(outcome = 'failed'),
    SUM(outcome = 'cancelled'), SUM(input), SUM(output), SUM(cache_read), SUM(cache_written),
    COALESCE(SUM(money), 0), COALESCE(SUM(money_as_sent - money), 0),
    SUM(outcome = 'answered' AND money IS NULL)";

/// How many columns these are.
const SUM_COLUMNS: usize = 12;

/// The lengths that a bucket of the series can have, in seconds.
const BUCKETS: [i64; 11] = [1, 10, 60, 300, 900, 3_600, 10_800, 21_600, 86_400, 604_800, 2_592_000];
/// About how many buckets a series has.
const MOST_BUCKETS: i64 = 72;

/// Which records are counted.
const COUNTED: &str = "time >= ?1 AND time < ?2 AND (?3 IS NULL OR tenant = ?3)";

impl Stats {
    /// Reads them out of a file, whether a gateway writes to it or not.
    pub fn of_file(path: &Path, query: &StatsQuery) -> Result<Stats, EvidenceError> {
        Stats::read(&connect_to_read(path)?, query)
    }

    fn read(connection: &Connection, query: &StatsQuery) -> Result<Stats, EvidenceError> {
        // One transaction, so that all numbers are of the same moment.
        let transaction =
            rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Deferred)?;
        let until = query.until.as_microsecond();
        let since = query.since.map_or(i64::MIN, Timestamp::as_microsecond);
        let (first, last): (Option<i64>, Option<i64>) = transaction.query_row(
            &format!("SELECT MIN(time), MAX(time) FROM request WHERE {COUNTED}"),
            params![since, until, query.tenant],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let read = Read { connection: &transaction, since, until, tenant: query.tenant.as_deref() };
        let bucket_seconds = bucket_seconds(first.unwrap_or(until), last.unwrap_or(until));
        let column = match query.by {
            By::Session => "session",
            By::Model => "COALESCE(model_used, model_asked)",
            By::Key => "(SELECT name FROM virtual_key WHERE id = request.key)",
            By::Upstream => "upstream",
        };
        Ok(Stats {
            since: time(query.since.map_or(first.unwrap_or(until), Timestamp::as_microsecond))?,
            until: query.until,
            total: read.total()?,
            latency: read.latency()?,
            by: query.by,
            groups: read.groups(column, "10 DESC, 2 DESC", query.top)?,
            group_count: read.count_of(column)?,
            sessions: read.saving_sessions(query.top)?,
            bucket_seconds,
            series: read.series(bucket_seconds)?,
            misses: read.misses(query.top)?,
            not_planned: read.reasons("not_planned")?,
            failed_open: read.reasons("failed_open")?,
        })
    }
}

struct Read<'c> {
    connection: &'c Connection,
    since: i64,
    until: i64,
    tenant: Option<&'c str>,
}

impl Read<'_> {
    fn total(&self) -> Result<Sums, EvidenceError> {
        let statement = format!("SELECT {SUMS} FROM request WHERE {COUNTED}");
        Ok(self
            .connection
            .query_row(&statement, params![self.since, self.until, self.tenant], |row| sums(row, 0))?)
    }

    fn groups(&self, column: &str, order: &str, top: u32) -> Result<Vec<StatsGroup>, EvidenceError> {
        let statement = format!(
            "SELECT COALESCE({column}, ''), {SUMS} FROM request WHERE {COUNTED}
             GROUP BY 1 ORDER BY {order}, 1 LIMIT ?4"
        );
        let mut statement = self.connection.prepare(&statement)?;
        let rows = statement.query_map(params![self.since, self.until, self.tenant, top], |row| {
            Ok(StatsGroup { name: row.get(0)?, sums: sums(row, 1)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn saving_sessions(&self, top: u32) -> Result<Vec<StatsGroup>, EvidenceError> {
        let mut sessions = self.groups("session", "12 DESC, 2 DESC", top)?;
        // Requests without a session are not one.
        sessions.retain(|session| !session.name.is_empty());
        Ok(sessions)
    }

    fn count_of(&self, column: &str) -> Result<u64, EvidenceError> {
        let statement = format!("SELECT COUNT(DISTINCT COALESCE({column}, '')) FROM request WHERE {COUNTED}");
        let count: i64 =
            self.connection
                .query_row(&statement, params![self.since, self.until, self.tenant], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    fn series(&self, seconds: i64) -> Result<Vec<Bucket>, EvidenceError> {
        let statement =
            format!("SELECT time / ?4, {SUMS} FROM request WHERE {COUNTED} GROUP BY 1 ORDER BY 1");
        let length = seconds * 1_000_000;
        let mut statement = self.connection.prepare(&statement)?;
        let mut rows = statement.query(params![self.since, self.until, self.tenant, length])?;
        let mut series: Vec<Bucket> = Vec::new();
        let mut next = None;
        while let Some(row) = rows.next()? {
            let number: i64 = row.get(0)?;
            for empty in next.unwrap_or(number)..number {
                series.push(Bucket { start: time(empty * length)?, sums: Sums::default() });
            }
            series.push(Bucket { start: time(number * length)?, sums: sums(row, 1)? });
            next = Some(number + 1);
        }
        Ok(series)
    }

    fn misses(&self, top: u32) -> Result<Vec<MissGroup>, EvidenceError> {
        let mut statement = self.connection.prepare(&format!(
            "SELECT miss_place, miss_variable, COUNT(*), SUM(miss_lost), MAX(miss_common) FROM request
             WHERE {COUNTED} AND miss_place IS NOT NULL
             GROUP BY 1, 2 HAVING SUM(miss_lost) > 0 ORDER BY 4 DESC, 3 DESC, 1, 2 LIMIT ?4"
        ))?;
        let rows = statement.query_map(params![self.since, self.until, self.tenant, top], |row| {
            Ok(MissGroup {
                place: row.get(0)?,
                variable: row.get(1)?,
                requests: count(row, 2)?,
                lost_tokens: count(row, 3)?,
                common_tokens: count(row, 4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn reasons(&self, column: &str) -> Result<Vec<(String, u64)>, EvidenceError> {
        let mut statement = self.connection.prepare(&format!(
            "SELECT {column}, COUNT(*) FROM request WHERE {COUNTED} AND {column} IS NOT NULL
             GROUP BY 1 ORDER BY 2 DESC, 1"
        ))?;
        let rows = statement.query_map(params![self.since, self.until, self.tenant], |row| {
            Ok((row.get(0)?, count(row, 1)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn latency(&self) -> Result<Latency, EvidenceError> {
        Ok(Latency {
            total_p50: self.percentile("total_us", 50)?,
            total_p99: self.percentile("total_us", 99)?,
            own_p50: self.percentile("own_us", 50)?,
            own_p99: self.percentile("own_us", 99)?,
        })
    }

    /// The nearest-rank percentile.
    fn percentile(&self, column: &str, percent: u32) -> Result<u64, EvidenceError> {
        let answered = format!("FROM request WHERE {COUNTED} AND outcome = 'answered'");
        let statement = format!(
            "SELECT COALESCE((SELECT {column} {answered} ORDER BY {column} LIMIT 1
                OFFSET ((SELECT COUNT(*) {answered}) * ?4 + 99) / 100 - 1), 0)"
        );
        let found: i64 = self.connection.query_row(
            &statement,
            params![self.since, self.until, self.tenant, percent],
            |row| row.get(0),
        )?;
        Ok(found.unsigned_abs())
    }
}

fn sums(row: &Row<'_>, from: usize) -> Result<Sums, rusqlite::Error> {
    let mut columns = from..from + SUM_COLUMNS;
    let mut next = || columns.next().unwrap_or(from);
    Ok(Sums {
        requests: count(row, next())?,
        answered: count(row, next())?,
        refused: count(row, next())?,
        failed: count(row, next())?,
        cancelled: count(row, next())?,
        input: count(row, next())?,
        output: count(row, next())?,
        cache_read: count(row, next())?,
        cache_written: count(row, next())?,
        spent: row.get(next())?,
        saved: row.get(next())?,
        unpriced: count(row, next())?,
    })
}

/// A sum over nothing is NULL.
fn count(row: &Row<'_>, column: usize) -> Result<u64, rusqlite::Error> {
    Ok(row.get::<_, Option<i64>>(column)?.unwrap_or(0).unsigned_abs())
}

fn bucket_seconds(first: i64, last: i64) -> i64 {
    let span = last.saturating_sub(first) / 1_000_000;
    let fitting = BUCKETS.into_iter().find(|bucket| span / bucket < MOST_BUCKETS);
    fitting.unwrap_or(span / MOST_BUCKETS)
}

fn time(microseconds: i64) -> Result<Timestamp, EvidenceError> {
    Timestamp::from_microsecond(microseconds).map_err(|error| EvidenceError::Damaged(error.to_string()))
}
