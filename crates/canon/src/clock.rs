//! The clock port.

use std::time::Duration;

pub use jiff::Timestamp;

/// The port for time. The command line supplies the system's clock, tests a fixed one.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The wall clock, for what is shown and stored.
    fn now(&self) -> Timestamp;

    /// Time since an arbitrary fixed point that never goes backwards, for durations.
    fn elapsed(&self) -> Duration;

    /// How long the calling thread has computed, for bounds on work. Time in which other threads have the core does not
    /// count, so a busy machine rejects nothing that an idle one accepts. Only values of one thread can be compared. A
    /// clock that cannot measure this counts all time.
    fn computed(&self) -> Duration {
        self.elapsed()
    }
}

/// A clock whose time is fixed.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}
