//! The journal port: what has happened in runs, written down before anything follows from it.
//!
//! Invariants: a step's result is durable before anything that depends on it starts; a step's state and
//! its result become durable together; a run's end is written once; `context.auth` is never written.

mod claims;
pub mod codec;
mod ephemeral;
pub(crate) mod items;
pub mod questions;
mod read_runs;
mod recovery;
mod redact;
mod replay_budget;
mod retention;
mod runs;
mod sqlite;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stave_canon::{Timestamp, Value};
use stave_diag::codes::run as codes;
use stave_exec::Document;
use stave_exec::dataflow::Origin;
use stave_shape::Shape;

use crate::database::DatabaseError;
pub use crate::database::Driver;
use crate::database::segments::Unfoldable;
use crate::report::{NodeReport, RunReport};
use crate::report_document::DecisionMade;
use crate::spend::Spend;
use crate::state::{Commit, StateError};
use stave_engine::{Failure, FailureKind};
use stave_engine::{RunFailure, StepResult};

pub(crate) use codec::{usage_of, usage_value};
pub use ephemeral::Ephemeral;
pub use questions::Question;
pub(crate) use redact::hide;
pub use retention::{Removed, RunRetention};
pub use runs::{Recovered, RunFilter, Runs};
pub use sqlite::SqliteJournal;

/// The largest result of a step that an engine keeps, in bytes.
pub const RECORD_BYTES: usize = 8 * 1024 * 1024;

/// A run as it begins.
#[derive(Debug, Clone)]
pub struct NewRun {
    pub id: String,
    /// What was asked, when the same run may be asked for again; see [`crate::run_identity`].
    pub digest: Option<String>,
    /// The run keeps this document, whatever becomes of the flow's file.
    pub document: Arc<Document>,
    /// The request without its `auth`.
    pub request: Value,
    pub had_auth: bool,
    /// What distinguishes the `auth` of the request from another one; see [`crate::request::auth_digest`].
    pub auth_digest: Option<String>,
    pub times: Times,
    /// The run whose results this one begins with.
    pub replay_of: Option<String>,
    /// Whether it waits for its turn before anything is done.
    pub is_queued: bool,
}

/// When a run began. A replay starts when it is asked for, and sees the request as of its arrival at the first run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When the request arrived, which is also its `event_time` when it names none.
    pub arrived_at: Timestamp,
    /// When this run began, which its duration and the starts of its steps count from.
    pub started_at: Timestamp,
}

impl Times {
    /// Of a run whose request arrives as it begins.
    #[must_use]
    pub fn now(now: Timestamp) -> Times {
        Times { arrived_at: now, started_at: now }
    }

    /// How long a run took that ended at this time, the time included in which nobody drove it.
    #[must_use]
    pub(crate) fn until(self, ended_at: Timestamp) -> Duration {
        ended_at.duration_since(self.started_at).unsigned_abs()
    }
}

/// The recorded result of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    pub node: String,
    pub result: StepResult,
    /// The node's own report first, then those of the nodes it called as tools.
    pub reports: Vec<NodeReport>,
}

/// One call that a step made on its way: a model's turn, a tool's answer or a question to a person.
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
    /// The digest of the question that was decided; see [`Question`].
    pub digest: Option<String>,
    /// Who decided: `key:NAME` of a server's key, `user:NAME` at the command line. Absent in old records.
    pub decided_by: Option<String>,
}

impl Decision {
    /// The machine form of the decision about the question at an execution's path.
    #[must_use]
    pub fn to_value(&self, path: &str) -> Value {
        DecisionMade::new(path, self).write()
    }
}

/// How a run is left that waits for a person.
#[derive(Debug, Clone, Copy)]
pub struct Pause<'p> {
    /// The reports of the nodes that have no result.
    pub idle: &'p [NodeReport],
    /// The digests of the decisions that the driver knew.
    pub known: &'p [String],
    pub at: Timestamp,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Ok(Value),
    Failed(RunFailure),
    Cancelled,
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(words)]
pub enum RunStatus {
    /// A process works on it.
    Running,
    /// No process works on it any more; it can be resumed.
    Interrupted,
    /// It is written down and waits for its turn in a living process.
    Queued,
    /// Processes that drove it died again and again without finishing a step of it. It is resumed only when a person
    /// says so.
    Quarantined,
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
    /// How often in a row the process that drove it died without finishing a step of it.
    pub crashes: u32,
}

/// Everything that is known of a run.
#[derive(Debug, Clone)]
pub struct StoredRun {
    pub summary: RunSummary,
    pub document: Arc<Document>,
    pub document_hash: String,
    pub request: Value,
    /// What was asked, when the same run may be asked for again.
    pub digest: Option<String>,
    pub had_auth: bool,
    /// What distinguishes the `auth` of the request from another one; `None` in runs of earlier versions.
    pub auth_digest: Option<String>,
    /// When the request arrived: at this run, or at the first of the runs that replay each other.
    pub arrived_at: Timestamp,
    /// In the order in which the results became durable.
    pub steps: Vec<StepRecord>,
    pub calls: Vec<CallRecord>,
    /// The results of finished list items, in steps that failed or were not finished when the run ended.
    pub items: Vec<CallRecord>,
    /// What was decided, by the path of the execution that asked.
    pub decisions: Vec<(String, Decision)>,
    /// The questions of steps that have no result yet, decided or not.
    pub questions: Vec<Question>,
    pub ending: Option<Ending>,
    /// How long processes have driven it before.
    pub used: Duration,
    /// Once the run has ended or waits for a person: the nodes that have no result, and why.
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
    #[error("several runs begin with `{beginning}`: {}", shown_matches(.matches))]
    Ambiguous { beginning: String, matches: Vec<String> },
    #[error("run `{run}` has not ended: {status}")]
    Unended { run: String, status: RunStatus },
    #[error("run `{run}` has ended: {status}")]
    Ended { run: String, status: RunStatus },
    #[error("run `{0}` is being worked on by another process")]
    Busy(String),
    #[error("there is a run `{0}` already")]
    Exists(String),
    /// The request that asks for it is the one that started it.
    #[error("run `{0}` was started by the same request")]
    Started(String),
    #[error("run `{0}` was taken over by another process")]
    Lost(String),
    #[error("run `{0}` is quarantined: processes that drove it died again and again")]
    Quarantined(String),
    #[error("the request of run `{0}` had `auth`, which is never stored; the requester must give it again")]
    AuthNeeded(String),
    #[error("run `{0}` was started with another `auth`, and continues with that one only")]
    AuthDiffers(String),
    #[error("the request of run `{0}` has `auth`, and this engine would have to store it")]
    AuthRefused(String),
    #[error("node `{node}` of run `{run}` does not ask for a decision")]
    NotAsked { run: String, node: String },
    #[error(
        "the question at `{node}` of run `{run}` is not the one that was decided; read it again and name its digest"
    )]
    QuestionChanged { run: String, node: String },
    #[error(
        "replaying `{node}` of run `{run}` would use a decision again that was made for it; replay from `{from}`"
    )]
    DecisionUsed { run: String, node: String, from: String },
    #[error("run `{run}` has no node `{node}`")]
    NoSuchNode { run: String, node: String },
    #[error("the request takes {bytes} bytes, and `journal.record_bytes` keeps {limit} at most")]
    RequestTooLarge { bytes: usize, limit: usize },
    #[error("the result takes {bytes} bytes, and {limit} may be kept")]
    TooLarge { bytes: usize, limit: usize },
    #[error("another run changed the state record in the meantime")]
    StateConflict,
    #[error("a record of the journal is damaged: {0}")]
    Damaged(String),
    #[error("the engine that keeps the runs cannot be used: {0}")]
    Unreachable(String),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl JournalError {
    /// How many matches of an ambiguous beginning are named.
    pub const MATCHES: usize = 10;

    /// The one run that the beginning of an id means, among the first that begin with it. There may be one more than
    /// are named, and an id that is the beginning itself comes first.
    pub fn sole_match(beginning: String, mut found: Vec<String>) -> Result<String, JournalError> {
        match found.as_slice() {
            // An id that a client chose may be the beginning of another one.
            [whole, ..] if *whole == beginning => Ok(beginning),
            [_] => Ok(found.remove(0)),
            [] => Err(JournalError::UnknownRun(beginning)),
            _ => Err(JournalError::Ambiguous { beginning, matches: found }),
        }
    }
}

/// The runs that a beginning may mean.
fn shown_matches(matches: &[String]) -> String {
    let named = matches.iter().take(JournalError::MATCHES).map(|run| format!("`{run}`"));
    let mut text = named.collect::<Vec<_>>().join(", ");
    if matches.len() > JournalError::MATCHES {
        text.push_str(" and more");
    }
    text
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

    /// Writes a run's beginning. The run is given back when the driver is dropped before it is settled.
    async fn begin(&self, run: &NewRun) -> Result<Driver, JournalError>;

    /// Writes that a run that was queued has its turn.
    async fn start(&self, run: &str, at: Timestamp) -> Result<(), JournalError>;

    /// Takes a run over that nobody drives, in this process or another one, and gives what is known of it.
    async fn claim(&self, run: &str, at: Timestamp) -> Result<(StoredRun, Driver), JournalError>;

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

    /// Writes that the run waits for a person and no process works on it, with the reports of the nodes that
    /// have no result. `true` says that one of its questions was decided in the meantime.
    async fn suspend(&self, run: &str, pause: Pause<'_>) -> Result<bool, JournalError>;

    /// Writes the end, with the reports of the nodes that have no result. The first end is kept; `false`
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
    /// Whether nothing will follow.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, RunStatus::Ok | RunStatus::Error | RunStatus::Cancelled)
    }
}

impl StoredRun {
    /// The run as a report, as far as it has come.
    #[must_use]
    pub fn report(&self) -> RunReport {
        // Reports without a result may be older than the steps that a resumed run has done since.
        let is_settled = self.summary.status.is_terminal() || self.summary.status == RunStatus::Waiting;
        let recorded = |id: &str| {
            let own = self.steps.iter().find(|step| step.node == id);
            let own = own.and_then(|step| step.reports.iter().find(|report| report.id == id));
            let idle = self.idle.iter().filter(|_| is_settled).find(|report| report.id == id);
            let called =
                || self.steps.iter().flat_map(|step| &step.reports).rev().find(|report| report.id == id);
            own.or(idle).or_else(called).cloned()
        };
        let nodes = self.document.graph.nodes.iter();
        let nodes = nodes.map(|node| {
            let origin = Origin::of(&node.extra);
            recorded(&node.id).unwrap_or_else(|| NodeReport::waiting(&node.id, &node.kind, origin))
        });
        let mut nodes: Vec<NodeReport> = nodes.collect();
        // A run that has ended or waits has reports of what its unfinished steps used; otherwise only their calls say it.
        for spend in self.calls.iter().filter(|_| !is_settled).filter_map(Spend::of) {
            if let Some(report) = nodes.iter_mut().find(|report| report.id == spend.node) {
                report.charge_earlier(&spend);
            }
        }
        let whole_run = |kind, message: String| RunFailure {
            failure: Failure::new(codes::RUN_STOPPED, kind, message),
            node: None,
            attempts: 0,
        };
        // A run that has not ended has taken the time for which processes drove it. A process that was killed did not say
        // until when it lived, but it lived while the steps ran that it recorded.
        let driven = self.used.max(recorded_time(&nodes));
        RunReport {
            run_id: self.summary.id.clone(),
            flow: self.summary.flow.clone(),
            result: match &self.ending {
                Some(Ending::Ok(output)) => Ok(output.clone()),
                Some(Ending::Failed(failed)) => Err(failed.clone()),
                Some(Ending::Cancelled) => {
                    Err(whole_run(FailureKind::Cancelled, "the run was cancelled".to_owned()))
                }
                None => Err(whole_run(FailureKind::Waiting, format!("the run is {}", self.summary.status))),
            },
            nodes,
            duration: self.summary.ended_at.map_or(driven, |ended_at| self.times().until(ended_at)),
        }
    }
}

/// The time in which at least one of these nodes ran.
fn recorded_time(nodes: &[NodeReport]) -> Duration {
    let mut spans: Vec<(Duration, Duration)> = nodes
        .iter()
        .filter_map(|node| Some((node.started?, node.started?.saturating_add(node.duration))))
        .collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (Duration::ZERO, Duration::ZERO);
    for (from, to) in spans {
        sum = sum.saturating_add(to.saturating_sub(from.max(until)));
        until = until.max(to);
    }
    sum
}

impl StoredRun {
    #[must_use]
    pub fn times(&self) -> Times {
        Times { arrived_at: self.arrived_at, started_at: self.summary.started_at }
    }

    /// The report of a run that has ended or waits, as its requester received it.
    #[must_use]
    pub fn answer(&self) -> RunReport {
        let mut report = self.report();
        if let Err(failed) = &mut report.result
            && failed.failure.kind == FailureKind::Waiting
        {
            failed.node = self.open_questions().next().map(Question::address);
        }
        report
    }

    /// Whether this is the `auth` that the run was started with. The time that it takes does not depend on where the
    /// digests differ.
    #[must_use]
    pub fn is_own_auth(&self, auth: &Value) -> bool {
        let Some(kept) = &self.auth_digest else { return true };
        let given = crate::request::auth_digest(&self.summary.id, auth);
        let difference = kept.bytes().zip(given.bytes()).fold(0, |sum, (kept, given)| sum | (kept ^ given));
        kept.len() == given.len() && std::hint::black_box(difference) == 0
    }

    /// The questions that nobody has decided.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        let is_decided = |question: &Question| {
            let digest = Some(&question.digest);
            self.decisions
                .iter()
                .any(|(path, decision)| *path == question.path && decision.digest.as_ref() == digest)
        };
        self.questions.iter().filter(move |question| !is_decided(question))
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

impl From<Unfoldable> for JournalError {
    fn from(error: Unfoldable) -> Self {
        match error {
            Unfoldable::Sqlite(error) => error.into(),
            Unfoldable::Damaged(reason) => JournalError::Damaged(reason),
        }
    }
}

impl From<StateError> for JournalError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Conflict => JournalError::StateConflict,
            StateError::Database(error) => JournalError::Database(error),
            StateError::Store(reason) => JournalError::Database(DatabaseError::Sqlite(reason)),
            StateError::Damaged(reason) => JournalError::Damaged(reason),
            // Reads are compared with labels; what is written never is.
            StateError::BeyondCheck(_) => JournalError::Database(DatabaseError::Sqlite(error.to_string())),
        }
    }
}
