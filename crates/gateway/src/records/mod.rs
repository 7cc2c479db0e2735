//! Evidence: one record for every request, and what can be learned from all of them.
//!
//! Invariant: a record holds hashes, counts, names and reasons, never content and never a secret. What a client
//! sends reaches it only as the name of a model, which is bounded.

mod edits;
pub(crate) mod insert;
mod model;
mod page;
mod retention;
pub mod shown;
mod sink;
mod stats;

pub use self::edits::Edits;
pub use self::model::{
    Breakpoint, Digest, Durations, GateDecision, Miss, Money, RequestOutcome, RequestRecord,
};
pub use self::page::page;
pub use self::retention::RecordRetention;
pub(crate) use self::retention::retain;
pub use self::sink::{RecordSink, SinkCounts};
pub use self::stats::{Bucket, By, Latency, MissGroup, Stats, StatsGroup, StatsQuery, Sums};
