//! The parent's side of Python: a few worker processes, one job at a time in each.
//!
//! Invariant: a worker is either idle in the pool or owned by exactly one running call. A call that
//! ends in any other way than with an answer (timeout, dropped future, broken pipe) takes its worker
//! with it, and the next call starts a fresh one.

use std::ffi::OsString;
use std::path::PathBuf;

use async_trait::async_trait;
use stave_canon::{Object, Value};
use thiserror::Error;

/// The program that runs [`stave_pyworker`]'s loop on its stdin and stdout.
///
/// [`stave_pyworker`]: https://docs.rs/stave-pyworker
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
pub struct StateError(pub String);

/// Where `state.get`, `state.set` and `state.delete` of one node go.
#[async_trait]
pub trait StateHost: Send + Sync {
    /// The value of a field, `None` when the record has no such field.
    async fn get(&self, key: &str) -> Result<Option<Value>, StateError>;
    async fn set(&self, key: &str, value: Value) -> Result<(), StateError>;
    async fn delete(&self, key: &str) -> Result<(), StateError>;
}

/// Workers that run Python.
#[derive(Debug)]
pub struct PythonPool {
    options: PoolOptions,
}

use crate::{Limits, ScriptError};

impl PythonPool {
    #[must_use]
    pub fn new(options: PoolOptions) -> Self {
        PythonPool { options }
    }

    /// Runs a transform. `state` answers the code's state calls; pass `None` for a node without state.
    pub async fn transform(
        &self,
        job: TransformJob,
        state: Option<&dyn StateHost>,
        limits: &Limits,
    ) -> Result<TransformOutput, ScriptError> {
        let _ = (job, state, limits, &self.options);
        Err(ScriptError::Closed)
    }

    /// Evaluates one expression in each of many scopes; one outcome for each, in order. A scope's
    /// `context` is an object with attributes, everything else is plain data.
    pub async fn evaluate(
        &self,
        expression: &str,
        scopes: Vec<Object>,
        limits: &Limits,
    ) -> Result<Vec<Result<Value, ScriptError>>, ScriptError> {
        let _ = (expression, scopes, limits);
        Err(ScriptError::Closed)
    }

    /// Folds `items` from the left with an expression over `acc`, `item` and `index`.
    pub async fn fold(
        &self,
        expression: &str,
        initial: Value,
        items: Vec<Value>,
        limits: &Limits,
    ) -> Result<Value, ScriptError> {
        let _ = (expression, initial, items, limits);
        Err(ScriptError::Closed)
    }

    /// Lets idle workers end and refuses further calls. Calls under way finish.
    pub async fn shutdown(&self) {}
}
