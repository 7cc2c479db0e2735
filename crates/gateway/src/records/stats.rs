//! Statistics of the records: totals, groups, a series over time, and the dearest misses.

mod read;
mod value;

use stave_canon::Timestamp;

/// Which records are counted, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsQuery {
    /// From this time on; from the first record when absent.
    pub since: Option<Timestamp>,
    pub until: Timestamp,
    /// Only this tenant's; everybody's when absent.
    pub tenant: Option<String>,
    pub by: By,
    /// How many groups, sessions and misses are listed.
    pub top: u32,
}

/// What records are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Session,
    Model,
    Key,
    Upstream,
}

impl By {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            By::Session => "session",
            By::Model => "model",
            By::Key => "key",
            By::Upstream => "upstream",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    pub since: Timestamp,
    pub until: Timestamp,
    pub total: Sums,
    pub latency: Latency,
    pub by: By,
    /// Those that spent most first.
    pub groups: Vec<StatsGroup>,
    /// How many groups there are in all.
    pub group_count: u64,
    /// The sessions that saved most.
    pub sessions: Vec<StatsGroup>,
    /// How many seconds a bucket of the series has.
    pub bucket_seconds: i64,
    /// Every bucket between the first and the last record, empty ones included.
    pub series: Vec<Bucket>,
    /// The places where requests parted from earlier ones, those that lost most tokens first.
    pub misses: Vec<MissGroup>,
    /// Why the cache was not planned for, and how often.
    pub not_planned: Vec<(String, u64)>,
    /// Which of our own parts failed, and how often.
    pub failed_open: Vec<(String, u64)>,
}

/// Sums over records. Money is in billionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    pub requests: u64,
    pub answered: u64,
    pub refused: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_written: u64,
    pub spent: i64,
    /// Below zero when marks cost more than they brought.
    pub saved: i64,
    /// Answered requests whose price is not known, which `spent` does not have.
    pub unpriced: u64,
}

/// Durations in microseconds, of answered requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    pub total_p50: u64,
    pub total_p99: u64,
    pub own_p50: u64,
    pub own_p99: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatsGroup {
    pub name: String,
    pub sums: Sums,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    pub start: Timestamp,
    pub sums: Sums,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissGroup {
    pub place: String,
    pub variable: Option<String>,
    pub requests: u64,
    pub lost_tokens: u64,
    /// The greatest number of tokens that such requests had in common with earlier ones.
    pub common_tokens: u64,
}

impl Sums {
    /// What was spent, unless no request has a price.
    #[must_use]
    pub fn known_spent(&self) -> Option<i64> {
        (self.unpriced == 0 || self.spent != 0).then_some(self.spent)
    }

    /// What was saved, unless no request has a price.
    #[must_use]
    pub fn known_saved(&self) -> Option<i64> {
        (self.unpriced == 0 || self.spent != 0 || self.saved != 0).then_some(self.saved)
    }

    /// The part of the input that came from a cache, when there was any input.
    #[must_use]
    pub fn hit_rate(&self) -> Option<f64> {
        (self.input > 0).then(|| self.cache_read as f64 / self.input as f64)
    }
}
