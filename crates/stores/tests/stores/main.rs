//! The stores against real servers, which the tests start on loopback in folders of their own.
//!
//! A server program that is missing fails the tests and says how it is installed.

#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "these tests start servers, wait for them, and stop at the first surprise"
)]

mod contract;
mod features;
mod planners;
mod server;
mod states;
#[path = "../../../block/tests/wire/mod.rs"]
mod wire;
