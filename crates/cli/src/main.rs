//! The `stave` command: parses arguments, calls the libraries and prints what they answer.
//!
//! Invariant: exit codes are 0 fine, 1 the run failed, 2 the input is invalid, 3 refused, 4 internal;
//! with `--json` one object goes to stdout and nothing else does.

#![expect(clippy::disallowed_methods, reason = "the command line is where the outside world comes in")]
#![cfg_attr(
    not(all(feature = "restate", feature = "telemetry")),
    allow(dead_code, reason = "settings and arguments of a feature stay where it is missing")
)]

mod args;
mod body_interface;
mod commands;
mod default_path;
mod differences;
mod exec_document;
mod file_limit;
mod findings;
mod flows_only;
mod gateway_record;
mod outcome;
mod period;
mod progress;
mod run_session;
mod signals;
mod table;
mod terminal;

use std::process::ExitCode;

use clap::Parser;
use stave_project as project;
use stave_project::{
    admission, archive, changes, context, contracts, edit_model, exit, features, files, governance, opcua,
    planner_files, ports, prompt_document, prompt_plugins, restate, runnable, services, signing_keys,
    source_kind, state_archive, state_folder, storage, system_documents, tracing, warnings, workflow,
};

/// Counts the bytes of Python workers against their limit; in every other process it only counts.
#[global_allocator]
static ALLOCATOR: stave_pyworker::LimitedAllocator = stave_pyworker::LimitedAllocator;

fn main() -> ExitCode {
    file_limit::report_as_error();
    warnings::listen(terminal::warn);
    let arguments = args::Arguments::parse();
    commands::run(arguments).into()
}
