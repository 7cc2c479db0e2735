//! Runs conformance rows: one JSON object a line in, one answer a line out.
//!
//! A row is `{"name", "op", "input"}`, its answer `{"name", "output"}` or `{"name", "error"}`. Rows that
//! also carry `expected` or `"error": true` can be judged, which is what the tests and `--summary` do.
//!
//! Invariant: every line that is not blank gets exactly one answer, whatever the line holds and whatever
//! the op does with it.

mod judge;
mod ops;
mod row;

pub use judge::{RowVerdict, Tally, judge};
pub use row::{Row, RowResult, answer_line};
