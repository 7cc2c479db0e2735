//! Keys and records through the file that keeps them.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests look into the file, and stop where something is not as it should be"
)]

mod keys;
mod page;
mod records;
mod sample;
