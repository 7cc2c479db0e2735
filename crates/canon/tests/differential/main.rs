//! The profiles against the implementations they must agree with: CPython's `json` and ECMAScript's
//! `JSON.stringify`, on random values where those are installed and on committed samples everywhere.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test stops at a surprise")]

mod ecmascript;
mod other;
mod python;
mod random;
mod samples;
