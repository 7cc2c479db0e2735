//! Shapes, as users of the derive meet them.

#![expect(clippy::unwrap_used, reason = "a test stops at what is not as it should be")]

mod reading;
mod sample;
mod schemas;
