//! Bounds on one run of Python.

use std::time::Duration;

/// What one job may use. Every bound ends the job with a typed error, never the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// Live bytes in the worker beyond what it needs when idle.
    pub memory_bytes: usize,
    /// Time the interpreter may compute, without the time it waits for the host.
    pub compute: Duration,
    /// Time from sending the job to having its answer; the worker is killed when it is over.
    pub wall: Duration,
    /// Nested Python calls.
    pub recursion: usize,
    /// Size of a result, a state value or the printed text, as the bytes of its JSON, roughly.
    pub output_bytes: usize,
    /// Containers within containers in a value that leaves the sandbox.
    pub depth: usize,
    /// Calls of the host, such as `state.get`.
    pub host_calls: usize,
}

impl JobLimits {
    /// The bounds used when a project sets none.
    pub const DEFAULT: JobLimits = JobLimits {
        memory_bytes: 64 * 1024 * 1024,
        compute: Duration::from_secs(5),
        wall: Duration::from_secs(30),
        recursion: 500,
        output_bytes: 4 * 1024 * 1024,
        depth: 100,
        host_calls: 1000,
    };
}

impl Default for JobLimits {
    fn default() -> Self {
        JobLimits::DEFAULT
    }
}
