//! The pool and its workers, end to end.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly anywhere")]

mod agreement;
mod expression;
mod limits;
mod pool;
mod support;
mod template;
mod transform;
