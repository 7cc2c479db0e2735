//! A worker on its own, so that the pool can be tested end to end without the command line.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: stave_pyworker::LimitedAllocator = stave_pyworker::LimitedAllocator;

fn main() -> ExitCode {
    match stave_pyworker::main_loop(std::io::stdin(), std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
