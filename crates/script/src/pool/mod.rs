//! The parent's side of Python and templates: a few worker processes, one job at a time in each.
//!
//! Invariants: a job ends at its bounds, because the worker is killed when it has worked for longer than the
//! job may compute, whatever single operation it is in. A worker is either idle in the pool or owned by exactly one running call. A call that
//! ends in any other way than with an answer (timeout, dropped future, broken pipe) takes its worker
//! with it, and the next call starts a fresh one.

mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use stave_canon::{Object, Value};
use thiserror::Error;
use tokio::sync::Semaphore;

use crate::protocol::{JobFailure, Json, WorkerLimits, WorkerReply, WorkerRequest};
use crate::{JobLimits, Limit, RenderError, RenderedPiece, ScriptError};
use worker::Worker;

/// The program that serves jobs on its stdin and stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerCommand {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolOptions {
    pub command: WorkerCommand,
    /// How many workers may run at once; they start when they are first needed.
    pub size: usize,
}

/// A code transform to run.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformJob {
    pub code: String,
    pub inputs: Object,
    /// The attributes of `context`. `event_time` (RFC 3339) is also what `datetime.now()` answers.
    pub context: Object,
    /// Whether the node has a `state` section; without one, every use of `state` raises.
    pub has_state: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransformOutput {
    /// What `transform` returned.
    pub value: Value,
    /// What the code printed.
    pub printed: String,
}

/// The state store failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the state store failed: {0}")]
pub struct StateHostError(pub String);

/// Where `state.get`, `state.set` and `state.delete` of one node go.
#[async_trait]
pub trait StateHost: Send + Sync {
    /// The value of a field, `None` when the record has no such field.
    async fn get(&self, key: &str) -> Result<Option<Value>, StateHostError>;
    async fn set(&self, key: &str, value: Value) -> Result<(), StateHostError>;
    async fn delete(&self, key: &str) -> Result<(), StateHostError>;
}

/// Workers that run Python.
#[derive(Debug)]
pub struct PythonPool {
    command: WorkerCommand,
    /// One permit for each worker that may run.
    running: Semaphore,
    idle: Mutex<Vec<Worker>>,
}

impl PythonPool {
    #[must_use]
    pub fn new(options: PoolOptions) -> Self {
        PythonPool {
            command: options.command,
            running: Semaphore::new(options.size.max(1)),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Runs a transform. `state` answers the code's state calls; pass `None` for a node without state.
    pub async fn transform(
        &self,
        job: TransformJob,
        state: Option<&dyn StateHost>,
        limits: &JobLimits,
    ) -> Result<TransformOutput, ScriptError> {
        let request = WorkerRequest::Transform {
            code: job.code,
            inputs: Json(Value::Object(job.inputs)),
            context: Json(Value::Object(job.context)),
            has_state: job.has_state,
            bounds: WorkerLimits::from(limits),
        };
        match self.call(&request, state, limits).await? {
            WorkerReply::Value { value, printed } => Ok(TransformOutput { value: value.0, printed }),
            other => Err(unexpected(other)),
        }
    }

    /// Evaluates one expression in each of many scopes; one outcome for each, in order. A scope's
    /// `context` is an object with attributes, everything else is plain data. A scope that runs into a
    /// bound ends the whole batch.
    pub async fn evaluate(
        &self,
        expression: &str,
        scopes: Vec<Object>,
        limits: &JobLimits,
    ) -> Result<Vec<Result<Value, ScriptError>>, ScriptError> {
        if scopes.is_empty() {
            return Ok(Vec::new());
        }
        let request = WorkerRequest::Evaluate {
            expression: expression.to_owned(),
            scopes: scopes.into_iter().map(|scope| Json(Value::Object(scope))).collect(),
            bounds: WorkerLimits::from(limits),
        };
        match self.call(&request, None, limits).await? {
            WorkerReply::Values(outcomes) => Ok(outcomes
                .into_iter()
                .map(|outcome| outcome.map(|value| value.0).map_err(ScriptError::from))
                .collect()),
            other => Err(unexpected(other)),
        }
    }

    /// Folds `items` from the left with an expression over `acc`, `item` and `index`.
    pub async fn fold(
        &self,
        expression: &str,
        initial: Value,
        items: Vec<Value>,
        limits: &JobLimits,
    ) -> Result<Value, ScriptError> {
        if items.is_empty() {
            return Ok(initial);
        }
        let request = WorkerRequest::Fold {
            expression: expression.to_owned(),
            initial: Json(initial),
            items: items.into_iter().map(Json).collect(),
            bounds: WorkerLimits::from(limits),
        };
        match self.call(&request, None, limits).await? {
            WorkerReply::Value { value, .. } => Ok(value.0),
            other => Err(unexpected(other)),
        }
    }

    /// Renders a template in a worker.
    pub(crate) async fn render(
        &self,
        template: &str,
        context: &Object,
        limits: &JobLimits,
    ) -> Result<Result<Vec<RenderedPiece>, RenderError>, ScriptError> {
        let request = WorkerRequest::Render {
            template: template.to_owned(),
            context: Json(Value::Object(context.clone())),
            bounds: WorkerLimits::from(limits),
        };
        match self.call(&request, None, limits).await? {
            WorkerReply::Rendered(outcome) => Ok(outcome),
            other => Err(unexpected(other)),
        }
    }

    /// Lets idle workers end and refuses further calls. Calls under way finish, and their workers end
    /// with them.
    pub async fn shutdown(&self) {
        self.running.close();
        let idle = std::mem::take(&mut *self.idle());
        for worker in idle {
            worker.close().await;
        }
    }

    async fn call(
        &self,
        request: &WorkerRequest,
        state: Option<&dyn StateHost>,
        limits: &JobLimits,
    ) -> Result<WorkerReply, ScriptError> {
        let _permit = self.running.acquire().await.map_err(|_| ScriptError::Closed)?;
        let mut worker = match self.fit() {
            Some(worker) => worker,
            None => Worker::start(&self.command)?,
        };
        // Dropping this future drops the worker with it, and the process ends.
        match tokio::time::timeout(limits.wall, worker.job(request, state, limits.compute)).await {
            Ok(Ok(reply)) => {
                // After a job that filled the memory, the next one starts with a clean slate.
                let full = WorkerReply::is_out_of_memory(&reply);
                if full {
                    worker.kill().await;
                } else {
                    self.keep(worker);
                }
                Ok(reply)
            }
            Ok(Err(error @ ScriptError::State(_))) => {
                self.keep(worker);
                Err(error)
            }
            Ok(Err(error)) => {
                worker.kill().await;
                Err(error)
            }
            Err(_) => {
                worker.kill().await;
                let detail = format!("no answer within {} ms", limits.wall.as_millis());
                Err(ScriptError::LimitExceeded { limit: Limit::Time, detail, range: None })
            }
        }
    }

    /// An idle worker that still runs; those that do not are dropped on the way.
    fn fit(&self) -> Option<Worker> {
        let mut idle = self.idle();
        while let Some(mut worker) = idle.pop() {
            if worker.is_fit() {
                return Some(worker);
            }
        }
        None
    }

    fn keep(&self, worker: Worker) {
        if !self.running.is_closed() {
            self.idle().push(worker);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unexpected(reply: WorkerReply) -> ScriptError {
    match reply {
        WorkerReply::Failed(failure) => ScriptError::from(failure),
        _ => ScriptError::Worker("it answered another question".to_owned()),
    }
}

impl From<JobFailure> for ScriptError {
    fn from(failure: JobFailure) -> Self {
        match failure {
            JobFailure::Raised { kind, message, range } => ScriptError::Raised { kind, message, range },
            JobFailure::NotJson { type_name, place } => ScriptError::NotJson { type_name, place },
            JobFailure::LimitExceeded { limit, detail, range } => {
                ScriptError::LimitExceeded { limit, detail, range }
            }
            JobFailure::Host => ScriptError::Worker("it gave up on a state that answered".to_owned()),
            JobFailure::Protocol(message) => ScriptError::Worker(message),
        }
    }
}
