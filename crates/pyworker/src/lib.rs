//! The Python interpreter and the template engine inside a worker process.
//!
//! A worker reads jobs from its stdin and writes answers to its stdout, one at a time, until its stdin
//! closes; [`stave_script::pool`] is the other end. The code it runs has no way out: every call of the
//! operating system is refused, the clock is fixed at the request's event time, and `state` and `context`
//! are answered by the host.
//!
//! Invariant: whatever a job does, the worker either answers it within its bounds or dies; it never
//! keeps a value from one job for the next, only compiled code.
//!
//! The program that calls [`main_loop`] must install [`LimitedAllocator`] as its global allocator.

mod compiled;
mod convert;
mod failure;
mod fold;
mod host;
mod render;
mod run;

use std::io::{self, Read, Write};

use stave_script::protocol::{self, JobFailure, WorkerLimits, WorkerReply, WorkerRequest};
use thiserror::Error;

pub use monty_alloc::LimitedAllocator;

use compiled::Compiled;

/// Nested Python needs stack of its own, far more than a thread usually has.
const STACK_BYTES: usize = 128 * 1024 * 1024;

const _: () = assert!(monty_types::OOM_EXIT_CODE == protocol::OUT_OF_MEMORY_EXIT, "the pool reads this code");

/// Why a worker ended other than by its stdin closing.
#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("the memory limit cannot be kept: {0}")]
    Allocator(&'static str),
    #[error("the worker lost its host: {0}")]
    Pipe(#[from] io::Error),
    #[error("the interpreter ended in the middle of a job")]
    Interpreter,
}

/// Serves jobs until `input` ends.
pub fn main_loop(input: impl Read + Send, output: impl Write + Send) -> Result<(), WorkerError> {
    monty_alloc::set_limit(None, false).map_err(WorkerError::Allocator)?;
    std::thread::scope(|scope| {
        let interpreter = std::thread::Builder::new()
            .name("python".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || serve(input, output))?;
        interpreter.join().unwrap_or(Err(WorkerError::Interpreter))
    })
}

fn serve(input: impl Read, output: impl Write) -> Result<(), WorkerError> {
    let mut pipe = Pipe { input, output };
    let mut compiled = Compiled::default();
    while let Some(request) = protocol::read(&mut pipe.input)? {
        let reply = job(request, &mut compiled, &mut pipe)?;
        protocol::send(&mut pipe.output, &reply)?;
    }
    Ok(())
}

/// The two ends that lead to the host.
struct Pipe<R, W> {
    input: R,
    output: W,
}

impl<R: Read, W: Write> host::Exchange for Pipe<R, W> {
    fn exchange(&mut self, calls: Vec<protocol::HostCall>) -> io::Result<Vec<protocol::HostAnswer>> {
        let count = calls.len();
        protocol::send(&mut self.output, &WorkerReply::Host(calls))?;
        match protocol::read(&mut self.input)? {
            Some(WorkerRequest::Answers(answers)) if answers.len() == count => Ok(answers),
            Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the host answered out of turn")),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

fn job(
    request: WorkerRequest,
    compiled: &mut Compiled,
    exchange: &mut dyn host::Exchange,
) -> Result<WorkerReply, WorkerError> {
    let outcome = match request {
        WorkerRequest::Transform { code, inputs, context, has_state, bounds } => {
            arm(&bounds)?;
            run::transform(&code, inputs.0, context.0, has_state, &bounds, compiled, exchange)
        }
        WorkerRequest::Evaluate { expression, scopes, bounds } => {
            arm(&bounds)?;
            fold::evaluate(&expression, scopes, &bounds, compiled)
        }
        WorkerRequest::Fold { expression, initial, items, bounds } => {
            arm(&bounds)?;
            fold::fold(&expression, initial.0, items, &bounds, compiled)
        }
        WorkerRequest::Render { template, context, bounds } => {
            arm(&bounds)?;
            Ok(render::render(&template, context.0, &bounds))
        }
        WorkerRequest::Answers(_) => {
            return Ok(WorkerReply::Failed(JobFailure::Protocol("an answer without a question".to_owned())));
        }
    };
    // The bound belongs to the job alone: the next request is read without it.
    monty_alloc::set_limit(None, false).map_err(WorkerError::Allocator)?;
    match outcome {
        Ok(reply) => Ok(reply),
        Err(run::Stop::Failed(failure)) => Ok(WorkerReply::Failed(failure)),
        Err(run::Stop::Pipe(error)) => Err(WorkerError::Pipe(error)),
    }
}

fn arm(bounds: &WorkerLimits) -> Result<(), WorkerError> {
    monty_alloc::set_limit(Some(bounds.memory_bytes), false).map_err(WorkerError::Allocator)
}
