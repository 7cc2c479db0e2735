//! One worker process and the exchange of one job with it.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use stave_canon::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, timeout};

use super::{StateHost, StateHostError, WorkerCommand};
use crate::protocol::{self, HostAnswer, HostCall, JobFailure, Json, WorkerReply, WorkerRequest};
use crate::{Limit, ScriptError};

/// How many jobs a worker does before a fresh one takes its place, so that nothing can pile up in it.
const MAX_JOBS: usize = 10_000;
/// How long a worker may take beyond the time its job may compute. The interpreter looks at its clock between
/// operations and ends the job itself, with the place; this is for one operation that takes for ever.
const GRACE: Duration = Duration::from_secs(1);

/// A process that is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: usize,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts a worker with an empty environment and nothing but its two pipes.
    pub(super) fn start(command: &WorkerCommand) -> Result<Self, ScriptError> {
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| ScriptError::Worker(format!("it could not be started: {error}")))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => {
                Ok(Worker { jobs: 0, child, input, output: BufReader::new(output) })
            }
            _ => Err(ScriptError::Worker("it has no pipes".to_owned())),
        }
    }

    /// Whether it can take another job.
    pub(super) fn is_fit(&mut self) -> bool {
        self.jobs < MAX_JOBS && matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a job and answers the worker's questions until it has its outcome. The worker may work for
    /// `compute`; the time it waits for answers does not count.
    pub(super) async fn job(
        &mut self,
        request: &WorkerRequest,
        state: Option<&dyn StateHost>,
        compute: Duration,
    ) -> Result<WorkerReply, ScriptError> {
        self.jobs += 1;
        self.send(request).await?;
        let mut left = compute.saturating_add(GRACE);
        loop {
            let started = Instant::now();
            let received = timeout(left, self.receive()).await.map_err(|_| {
                let detail = format!("no answer after {} ms of work", compute.as_millis());
                ScriptError::LimitExceeded { limit: Limit::Time, detail, range: None }
            })?;
            left = left.saturating_sub(started.elapsed());
            match received? {
                WorkerReply::Host(calls) => {
                    let mut failure = None;
                    let mut answers = Vec::with_capacity(calls.len());
                    for call in calls {
                        answers.push(match answer(call, state).await {
                            Ok(answer) => answer,
                            Err(error) => {
                                failure.get_or_insert(error);
                                HostAnswer::Failed
                            }
                        });
                    }
                    self.send(&WorkerRequest::Answers(answers)).await?;
                    if let Some(error) = failure {
                        // The worker ends the job on its side too, and stays in step with its host.
                        return match self.receive().await? {
                            WorkerReply::Failed(JobFailure::Host) => Err(ScriptError::State(error)),
                            _ => Err(ScriptError::Worker("it went on without its state".to_owned())),
                        };
                    }
                }
                outcome => return Ok(outcome),
            }
        }
    }

    async fn send(&mut self, request: &WorkerRequest) -> Result<(), ScriptError> {
        let frame = protocol::encode(request).map_err(|error| {
            let detail = format!("the job cannot be sent: {error}");
            ScriptError::LimitExceeded { limit: Limit::Memory, detail, range: None }
        })?;
        let sent = match self.input.write_all(&frame).await {
            Ok(()) => self.input.flush().await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(()) => Ok(()),
            Err(error) => Err(self.lost(&error).await),
        }
    }

    async fn receive(&mut self) -> Result<WorkerReply, ScriptError> {
        match self.read().await {
            Ok(reply) => Ok(reply),
            Err(error) => Err(self.lost(&error).await),
        }
    }

    async fn read(&mut self) -> io::Result<WorkerReply> {
        let mut prefix = [0; 4];
        self.output.read_exact(&mut prefix).await?;
        let mut body = vec![0; protocol::body_length(prefix)?];
        self.output.read_exact(&mut body).await?;
        protocol::decode(&body)
    }

    /// What a broken pipe means: the worker's exit status says.
    async fn lost(&mut self, error: &io::Error) -> ScriptError {
        // It may still be running when it wrote nonsense.
        let _ = self.child.start_kill();
        match self.child.wait().await {
            Ok(status) if status.code() == Some(protocol::OUT_OF_MEMORY_EXIT) => {
                let detail = "the worker was stopped by its memory bound".to_owned();
                ScriptError::LimitExceeded { limit: Limit::Memory, detail, range: None }
            }
            Ok(status) => ScriptError::Worker(format!("{error} ({status})")),
            Err(_) => ScriptError::Worker(error.to_string()),
        }
    }

    /// Ends the process at once and waits for it.
    pub(super) async fn kill(mut self) {
        // It can only fail when the process is gone already.
        let _ = self.child.kill().await;
    }

    /// Closes the worker's input, which ends it, and waits for it.
    pub(super) async fn close(self) {
        let Worker { mut child, input, output, .. } = self;
        drop((input, output));
        // It can only fail when the process is gone already.
        let _ = child.wait().await;
    }
}

async fn answer(call: HostCall, state: Option<&dyn StateHost>) -> Result<HostAnswer, StateHostError> {
    let Some(state) = state else {
        return Err(StateHostError("the node has none".to_owned()));
    };
    match call {
        HostCall::Get { key } => {
            let found: Option<Value> = state.get(&key).await?;
            Ok(found.map_or(HostAnswer::Absent, |value| HostAnswer::Found(Json(value))))
        }
        HostCall::Set { key, value } => state.set(&key, value.0).await.map(|()| HostAnswer::Done),
        HostCall::Delete { key } => state.delete(&key).await.map(|()| HostAnswer::Done),
    }
}
