//! Bodies of the runs API.

use stave_canon::{Object, Value};
use stave_runtime::journal::{RunStatus, StoredRun};
use stave_runtime::report_document::{
    DecisionMade, OpenQuestion, ReportedNode, RunError, RunReportDocument, RunUsage,
};
use stave_runtime::run_identity::StartName;
use stave_shape::{Nullable, Ordered, Pattern, Shape};

const RUN_ID: Pattern = Pattern {
    name: "a run id (1 to 64 letters, digits, `-`, `_` or `.`, beginning with a letter or a digit and not with `key_`)",
    expression: "^(?!key_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
    fits: |text| StartName::run_id(text).is_ok(),
};

/// The flow to run, with its input.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct StartRun {
    pub(crate) flow: String,
    #[shape(not_null)]
    pub(crate) input: Option<Object>,
    /// Id of the run. Repeating the same request returns the same run.
    #[shape(pattern = RUN_ID)]
    pub(crate) run_id: Option<String>,
}

/// A started run.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct StartedRun {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
}

/// A page of runs, newest first.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunPage {
    pub(crate) runs: Vec<RunRow>,
    /// The `cursor` of the next page; null on the last one.
    pub(crate) next: Nullable<String>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunRow {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
    pub(crate) started_at: String,
    pub(crate) ended_at: Nullable<String>,
    /// Number of completed steps.
    pub(crate) steps: u64,
    /// The run whose results this run reuses.
    pub(crate) replay_of: Nullable<String>,
    /// Number of consecutive crashes of the driving process without a completed step.
    pub(crate) crashes: u32,
}

/// Status of a run after a request that changed it.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunStanding {
    pub(crate) run_id: String,
    pub(crate) status: RunStatus,
    /// Field that a request to resume must include: `auth`.
    #[shape(not_null)]
    pub(crate) needs: Option<String>,
}

/// A run that was cancelled, or that stops after its current step.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct CancelledRun {
    pub(crate) run_id: String,
    pub(crate) status: RunStatus,
    /// Whether the run stops after its current step.
    pub(crate) cancel_requested: bool,
}

/// Options for resuming a run.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct ResumeRun {
    /// The `auth` of the original request, which is never stored.
    pub(crate) auth: Option<Object>,
    /// Whether to resume a quarantined run.
    pub(crate) force: Option<bool>,
}

/// Options for replaying a run.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ReplayRun {
    /// First node to run again; by default the node that failed.
    pub(crate) node: Option<String>,
    /// The `auth` of the original request, which is never stored.
    #[shape(not_null)]
    pub(crate) auth: Option<Object>,
}

/// A started replay.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct StartedReplay {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
    pub(crate) replay_of: String,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Decide {
    pub(crate) approved: bool,
    #[shape(not_null)]
    pub(crate) comment: Option<String>,
    /// Digest of the question, from the run's `asks`.
    pub(crate) digest: Option<String>,
    /// The `auth` of the original request, which is never stored.
    #[shape(not_null)]
    pub(crate) auth: Option<Object>,
}

/// Open questions of a run.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunQuestions {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
    pub(crate) asks: Vec<OpenQuestion>,
}

/// Status, nodes and token usage of a run, with its questions and decisions.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunDetail {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
    pub(crate) output: Value,
    pub(crate) error: Nullable<RunError>,
    /// Nodes by id.
    pub(crate) nodes: Ordered<ReportedNode>,
    pub(crate) usage: RunUsage,
    pub(crate) duration_ms: f64,
    pub(crate) started_at: String,
    pub(crate) ended_at: Nullable<String>,
    /// The run whose results this run reuses.
    pub(crate) replay_of: Nullable<String>,
    /// Open questions, while the run waits for a person.
    #[shape(not_null)]
    pub(crate) asks: Option<Vec<OpenQuestion>>,
    #[shape(not_null)]
    pub(crate) decisions: Option<Vec<DecisionMade>>,
}

impl RunDetail {
    /// The report, with the status of the run in the journal.
    pub(crate) fn of(stored: &StoredRun) -> RunDetail {
        let report = RunReportDocument::from(&stored.report());
        let summary = &stored.summary;
        let is_over = stored.ending.is_some();
        RunDetail {
            run_id: report.run_id,
            flow: report.flow,
            status: summary.status,
            output: report.output,
            error: report.error.0.filter(|_| is_over).into(),
            nodes: report.nodes,
            usage: report.usage,
            duration_ms: report.duration_ms,
            started_at: summary.started_at.to_string(),
            ended_at: summary.ended_at.map(|at| at.to_string()).into(),
            replay_of: summary.replay_of.clone().into(),
            asks: (summary.status == RunStatus::Waiting).then(|| open_questions(stored)),
            decisions: Some(decisions(stored)).filter(|decisions| !decisions.is_empty()),
        }
    }
}

/// The open questions of a run.
pub(crate) fn open_questions(stored: &StoredRun) -> Vec<OpenQuestion> {
    stored.open_questions().map(OpenQuestion::from).collect()
}

/// The decisions about questions of a run.
pub(crate) fn decisions(stored: &StoredRun) -> Vec<DecisionMade> {
    stored.decisions.iter().map(|(path, decision)| DecisionMade::new(path, decision)).collect()
}
