//! Evidence: one record for every request, and what can be learned from all of them.
//!
//! Invariant: a record holds hashes, counts, names and reasons, never content and never a secret. What a client
//! sends reaches it only as the name of a model, which is bounded.

mod blocks;
mod decisions;
mod edits;
pub(crate) mod insert;
mod model;
mod page;
mod retention;
pub mod shown;
mod sink;
mod stats;
mod stored;

pub use self::blocks::{RecordedBlock, RecordedBlocks};
pub use self::decisions::RecordedDecision;
pub use self::edits::Edits;
pub use self::model::{
    Breakpoint, Digest, Durations, GateDecision, Miss, Money, RequestOutcome, RequestRecord,
};
pub use self::page::page;
pub use self::retention::RecordRetention;
pub(crate) use self::retention::retain;
pub use self::sink::{RecordSink, SinkCounts};
pub use self::stats::{Bucket, By, Latency, MissGroup, Stats, StatsGroup, StatsQuery, Sums};
pub use self::stored::{StoredMiss, StoredRecord, prompt_counts};
