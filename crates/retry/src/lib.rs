//! When to try again: the classes of failures, the waits between attempts, and their jitter.
//!
//! Model calls, the gateway's requests and the steps of a run ask the same three questions: may this failure pass by
//! itself, is there an attempt left, and how long is the wait. They are answered here once.
//!
//! Invariant: nothing here reads a clock, sleeps or draws a random number. The caller brings the draw, so the same
//! failures wait the same time.

mod fault_class;
mod jitter;
mod policy;
mod spacing;

pub use fault_class::FaultClass;
pub use jitter::Jitter;
pub use policy::{AttemptFailure, RetryPolicy};
pub use spacing::RetrySpacing;
