//! The whole program: every test drives the built `stave` as a person or a script would.
//!
//! Invariant: nothing here reaches a network. Models and hosts are scripted servers on this machine, or
//! recordings; files live in a folder of the test's own.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "these tests start processes, read and write files, and stop where something is not as it should be"
)]

mod batch;
mod code_pages;
mod commands;
mod compile;
mod exec_equivalence;
mod faults;
mod flow_rows;
mod folder;
mod gateway;
mod json;
mod layered_flows;
mod mask;
mod process;
mod python;
mod restate;
mod retry_policy;
mod scripted;
mod serve;
#[path = "../../crates/stores/tests/stores/server.rs"]
mod server;
mod studio;
mod telemetry;
