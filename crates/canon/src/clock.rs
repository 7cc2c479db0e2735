//! The clock port.

use std::time::Duration;

pub use jiff::Timestamp;

/// The port for time. The command line supplies the system's clock, tests a standing one.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The wall clock, for what is shown and stored.
    fn now(&self) -> Timestamp;

    /// Time since an arbitrary fixed point that never goes backwards, for durations.
    fn elapsed(&self) -> Duration;
}

/// A clock that stands still.
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
