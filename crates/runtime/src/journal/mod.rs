//! The journal port: what has happened in runs, written down before anything follows from it.
//!
//! Invariants: a step's result is durable before anything that depends on it starts; a step's state and
//! its result become durable together; a run's end is written once; `context.auth` is never written.

pub mod codec;
mod ephemeral;
mod retention;
mod runs;
mod sqlite;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::{Object, Timestamp, Value};
use stave_diag::codes::run as codes;
use stave_exec::Document;
use stave_exec::dataflow::Origin;

use crate::database::DatabaseError;
use crate::edges::Signal;
use crate::failure::{Failure, Kind};
use crate::report::{NodeReport, RunFailure, RunReport};
use crate::state::{Commit, StateError};

pub(crate) use codec::{usage_of, usage_value};
pub use ephemeral::Ephemeral;
pub use retention::{Removed, Retention};
pub use runs::{RunFilter, Runs};
pub use sqlite::SqliteJournal;

/// A run as it begins.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub id: String,
    /// The run keeps this document, whatever becomes of the flow's file.
    pub document: Arc<Document>,
    /// The request without its `auth`.
    pub request: Value,
    pub had_auth: bool,
    /// When the request arrived, which is also its `event_time` when it names none.
    pub started_at: Timestamp,
    /// The run whose results this one begins with.
    pub replay_of: Option<String>,
}

/// What a step came to, with everything that follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    pub node: String,
    pub outputs: Result<Object, Failure>,
    /// What each outgoing edge carries, by its index in the document.
    pub signals: Vec<(usize, Signal)>,
    /// The failure that no error route took.
    pub unhandled: Option<Failure>,
    pub attempts: u32,
    /// The node's own report first, then those of the nodes it called as tools.
    pub reports: Vec<NodeReport>,
}

/// One call that a step made on its way: a model's turn or a tool's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    pub node: String,
    /// Counts the calls of one execution of the node.
    pub number: u32,
    /// What was asked. A step that asks something else is not given this answer.
    pub fingerprint: String,
    pub result: Value,
}

/// A person's answer to a step that asks for one.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub approved: bool,
    pub comment: Option<String>,
    pub decided_at: Timestamp,
    /// Who decided: `key:NAME` of a server's key, `user:NAME` at the command line. Absent in old records.
    pub decided_by: Option<String>,
}

impl Decision {
    /// The decision about a node, as people and programs are shown it.
    #[must_use]
    pub fn to_value(&self, node: &str) -> Value {
        Value::from_iter([
            ("node", Value::from(node)),
            ("approved", self.approved.into()),
            ("comment", self.comment.clone().into()),
            ("decided_at", self.decided_at.to_string().into()),
            ("decided_by", self.decided_by.clone().into()),
        ])
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Ok(Value),
    Failed(RunFailure),
    Cancelled,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// A process works on it.
    Running,
    /// The process that worked on it is gone; it can be resumed.
    Interrupted,
    /// A step waits for a person.
    Waiting,
    Ok,
    Error,
    Cancelled,
}

/// The line of a run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub id: String,
    pub flow: String,
    pub status: RunStatus,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// How many steps have a result.
    pub steps: u64,
    pub replay_of: Option<String>,
}

/// Everything that is known of a run.
#[derive(Debug, Clone)]
pub struct StoredRun {
    pub summary: RunSummary,
    pub document: Arc<Document>,
    pub document_hash: String,
    pub request: Value,
    pub had_auth: bool,
    /// In the order in which the results became durable.
    pub steps: Vec<StepRecord>,
    pub calls: Vec<CallRecord>,
    pub decisions: Vec<(String, Decision)>,
    pub ending: Option<Ending>,
    /// Once the run has ended: the nodes that have no result, and why.
    pub idle: Vec<NodeReport>,
}

/// What the writer of a result learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    On,
    /// Someone wants the run to end.
    Cancelled,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("there is no run `{0}`")]
    UnknownRun(String),
    #[error("run `{run}` has ended: {status}")]
    Ended { run: String, status: RunStatus },
    #[error("run `{0}` is being worked on by another process")]
    Busy(String),
    #[error("the request of run `{0}` had `auth`, which is never stored; it has to be given again")]
    AuthNeeded(String),
    #[error("the request of run `{0}` has `auth`, and this engine would have to store it")]
    AuthRefused(String),
    #[error("node `{node}` of run `{run}` does not ask for a decision")]
    NotAsked { run: String, node: String },
    #[error("run `{run}` has no node `{node}`")]
    NoSuchNode { run: String, node: String },
    #[error("the result takes {bytes} bytes, and {limit} may be kept")]
    TooLarge { bytes: usize, limit: usize },
    #[error("another run changed the state record in the meantime")]
    StateConflict,
    #[error("a record of the journal is damaged: {0}")]
    Damaged(String),
    #[error("the engine that keeps the runs can not be used: {0}")]
    Unreachable(String),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Where runs are written down.
#[async_trait]
pub trait Journal: Send + Sync + fmt::Debug {
    /// The file that the journal shares with a state store, so that both are written in one transaction.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// Whether a run can be resumed from here.
    fn is_durable(&self) -> bool;

    /// Whether there is a run with this id.
    async fn knows(&self, _run: &str) -> Result<bool, JournalError> {
        Ok(false)
    }

    /// Writes a run's beginning.
    async fn begin(&self, run: &NewRun) -> Result<(), JournalError>;

    /// Takes a run over that no living process works on, and gives what is known of it.
    async fn claim(&self, run: &str) -> Result<StoredRun, JournalError>;

    /// Writes a step's result, and the state that belongs to it.
    async fn record(
        &self,
        run: &str,
        step: &StepRecord,
        state: Option<Commit>,
    ) -> Result<Going, JournalError>;

    /// Writes the answer to a call, and the state that belongs to it.
    async fn record_call(
        &self,
        run: &str,
        call: &CallRecord,
        state: Option<Commit>,
    ) -> Result<(), JournalError>;

    /// Writes that the run waits for a person and no process works on it.
    async fn suspend(&self, run: &str) -> Result<(), JournalError>;

    /// Writes the end, with the reports of the nodes that have no result. The first end stands; `false`
    /// says that there was one.
    async fn end(
        &self,
        run: &str,
        ending: &Ending,
        idle: &[NodeReport],
        at: Timestamp,
    ) -> Result<bool, JournalError>;

    /// Whether someone wants the run to end.
    async fn is_cancelled(&self, run: &str) -> Result<bool, JournalError>;
}

impl RunStatus {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Waiting => "waiting",
            RunStatus::Ok => "ok",
            RunStatus::Error => "error",
            RunStatus::Cancelled => "cancelled",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<RunStatus> {
        use RunStatus::{Cancelled, Error, Interrupted, Ok, Running, Waiting};
        [Running, Interrupted, Waiting, Ok, Error, Cancelled].into_iter().find(|status| status.word() == word)
    }

    /// Whether nothing will follow.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, RunStatus::Ok | RunStatus::Error | RunStatus::Cancelled)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

impl StoredRun {
    /// The run as a report, as far as it has come.
    #[must_use]
    pub fn report(&self) -> RunReport {
        let recorded = |id: &str| {
            let reports = self.steps.iter().flat_map(|step| &step.reports).chain(&self.idle);
            reports.rev().find(|report| report.id == id).cloned()
        };
        let nodes = self.document.graph.nodes.iter();
        let nodes = nodes.map(|node| {
            let origin = Origin::of(&node.extra);
            recorded(&node.id).unwrap_or_else(|| NodeReport::waiting(&node.id, &node.kind, origin))
        });
        let whole_run = |kind, message: String| RunFailure {
            failure: Failure::new(codes::RUN_STOPPED, kind, message),
            node: None,
            attempts: 0,
        };
        let ended_at = self.summary.ended_at.unwrap_or(self.summary.started_at);
        RunReport {
            run_id: self.summary.id.clone(),
            flow: self.summary.flow.clone(),
            result: match &self.ending {
                Some(Ending::Ok(output)) => Ok(output.clone()),
                Some(Ending::Failed(failed)) => Err(failed.clone()),
                Some(Ending::Cancelled) => {
                    Err(whole_run(Kind::Cancelled, "the run was cancelled".to_owned()))
                }
                None => Err(whole_run(Kind::Waiting, format!("the run is {}", self.summary.status))),
            },
            nodes: nodes.collect(),
            duration: ended_at.duration_since(self.summary.started_at).unsigned_abs(),
        }
    }
}

impl Ending {
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match self {
            Ending::Ok(_) => RunStatus::Ok,
            Ending::Failed(_) => RunStatus::Error,
            Ending::Cancelled => RunStatus::Cancelled,
        }
    }
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        JournalError::Database(error.into())
    }
}

impl From<StateError> for JournalError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Conflict => JournalError::StateConflict,
            StateError::Store(reason) => JournalError::Database(DatabaseError::Sqlite(reason)),
            StateError::Damaged(reason) => JournalError::Damaged(reason),
        }
    }
}
