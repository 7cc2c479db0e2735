//! How the waits between attempts grow.

use stave_shape::Shape;

/// The spacing of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub enum RetrySpacing {
    /// Each wait is the backoff.
    Fixed,
    /// Each wait is drawn from zero to a bound that begins with the backoff and doubles.
    ExponentialJitter,
}

impl RetrySpacing {
    pub const ALL: [RetrySpacing; 2] = [RetrySpacing::Fixed, RetrySpacing::ExponentialJitter];
}
