//! The engine as a whole: compared with a plain interpreter on random graphs, and stopped at every moment
//! at which it writes something down.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests start workers, and stop where something is not as it should be"
)]

mod against_reference;
mod closing;
mod crashes;
mod graph;
mod panics;
mod parallel_runs;
mod reference;
mod rep;
mod scripted;
mod workflows;
mod world;
