//! The `stave` command: the only place that reads files, the environment and the clock for the crates
//! below it.
//!
//! Invariant: exit codes are 0 fine, 1 the run failed, 2 the input is invalid, 3 refused, 4 internal;
//! with `--json` one object goes to stdout and nothing else does.

#![expect(clippy::disallowed_methods, reason = "the command line is where the outside world comes in")]
#![cfg_attr(
    not(all(feature = "restate", feature = "telemetry")),
    allow(dead_code, reason = "settings and arguments of a feature stay where it is missing")
)]

mod admission;
mod args;
mod changes;
mod commands;
mod context;
mod exit;
mod features;
mod file_limit;
mod files;
mod governance;
mod opcua;
mod period;
mod ports;
mod progress;
mod project;
mod prompt_plugins;
#[cfg_attr(not(feature = "restate"), path = "without/restate.rs")]
mod restate;
mod services;
mod source_kind;
mod storage;
mod table;
mod terminal;
#[cfg_attr(not(feature = "telemetry"), path = "without/tracing.rs")]
mod tracing;
mod workflow;

use std::process::ExitCode;

use clap::Parser;

/// Counts the bytes of Python workers against their limit; in every other process it only counts.
#[global_allocator]
static ALLOCATOR: stave_pyworker::LimitedAllocator = stave_pyworker::LimitedAllocator;

fn main() -> ExitCode {
    file_limit::report_as_error();
    let arguments = args::Arguments::parse();
    commands::run(arguments).into()
}
