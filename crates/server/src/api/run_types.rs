//! Bodies of the runs API.

use stave_canon::{Object, Value};
use stave_runtime::Status;
use stave_runtime::journal::RunStatus;
use stave_runtime::run_identity::StartName;
use stave_shape::{Nullable, Ordered, Pattern, Shape};

const RUN_ID: Pattern = Pattern {
    name: "a run id (1 to 64 letters, digits, `-`, `_` or `.`, beginning with a letter or a digit and not with `key_`)",
    expression: "^(?!key_)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
    fits: |text| StartName::run_id(text).is_ok(),
};

/// Which flow to run, and with what.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct StartRun {
    pub(crate) flow: String,
    #[shape(not_null)]
    pub(crate) input: Option<Object>,
    /// The id of the run: the same request again is the same run.
    #[shape(pattern = RUN_ID)]
    pub(crate) run_id: Option<String>,
}

/// A run that began.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct StartedRun {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
}

/// Runs, the newest first.
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
    /// How many steps have a result.
    pub(crate) steps: u64,
    /// The run whose results this one begins with.
    pub(crate) replay_of: Nullable<String>,
    /// How often in a row the process that drove it died without finishing a step of it.
    pub(crate) crashes: u32,
}

/// Where a run stands after a request that changed it.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunStanding {
    pub(crate) run_id: String,
    pub(crate) status: RunStatus,
    /// What a request to resume must have: `auth`.
    #[shape(not_null)]
    pub(crate) needs: Option<String>,
}

/// A run that was cancelled, or was asked to end.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct CancelledRun {
    pub(crate) run_id: String,
    pub(crate) status: RunStatus,
    /// Whether the run ends after the step that it is at.
    pub(crate) cancel_requested: bool,
}

/// How an interrupted run continues.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct ResumeRun {
    /// The `auth` of the original request, which is never stored.
    pub(crate) auth: Option<Object>,
    /// Whether a quarantined run is run anyway.
    pub(crate) force: Option<bool>,
}

/// From where a run is replayed.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ReplayRun {
    /// The node to begin with; without it, the replay begins with what failed.
    pub(crate) node: Option<String>,
    /// The `auth` of the original request, which is never stored.
    #[shape(not_null)]
    pub(crate) auth: Option<Object>,
}

/// A replay that began.
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
    /// The digest of the question that is decided, as the run's `asks` has it.
    pub(crate) digest: Option<String>,
    /// The `auth` of the original request, which is never stored.
    #[shape(not_null)]
    pub(crate) auth: Option<Object>,
}

/// A question to a person, with the values that it is about. A decision names its digest.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Question {
    /// The address that a decision is sent to: a node, a tool's call or an item of a list.
    pub(crate) node: String,
    pub(crate) question: Nullable<String>,
    pub(crate) values: Object,
    pub(crate) digest: String,
}

/// A decision that was made.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct DecisionMade {
    pub(crate) node: String,
    pub(crate) approved: bool,
    pub(crate) comment: Nullable<String>,
    pub(crate) decided_at: String,
    pub(crate) decided_by: Nullable<String>,
    pub(crate) digest: Nullable<String>,
}

/// What a run asks people.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunQuestions {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
    pub(crate) asks: Vec<Question>,
}

/// Tokens of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Shape)]
pub(crate) struct Usage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
}

/// Tokens of all model calls of a run, and what they cost when every model has a price.
#[derive(Debug, Clone, Copy, PartialEq, Shape)]
pub(crate) struct RunUsage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    #[shape(not_null)]
    pub(crate) cost_micros: Option<u64>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunError {
    pub(crate) message: String,
    pub(crate) code: String,
    pub(crate) kind: String,
    pub(crate) node: Nullable<String>,
    pub(crate) attempt: u32,
    pub(crate) retryable: bool,
    #[shape(not_null)]
    pub(crate) details: Option<Value>,
    #[shape(not_null)]
    pub(crate) line: Option<u32>,
    #[shape(not_null)]
    pub(crate) column: Option<u32>,
}

/// Why a node failed.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct NodeError {
    pub(crate) reason: String,
    pub(crate) code: String,
    pub(crate) kind: String,
    pub(crate) node: String,
    pub(crate) attempt: u32,
    pub(crate) retryable: bool,
    #[shape(not_null)]
    pub(crate) details: Option<Value>,
    #[shape(not_null)]
    pub(crate) line: Option<u32>,
    #[shape(not_null)]
    pub(crate) column: Option<u32>,
}

/// What became of a node.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct ReportedNode {
    pub(crate) status: Status,
    #[shape(rename = "type")]
    pub(crate) kind: String,
    pub(crate) attempts: u32,
    pub(crate) duration_ms: f64,
    /// When it started, counted from the start of the run.
    pub(crate) started_ms: Option<f64>,
    pub(crate) reason: Option<String>,
    pub(crate) error: Option<NodeError>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) cost_micros: Option<u64>,
    pub(crate) calls: Option<u64>,
    pub(crate) cached: Option<bool>,
    /// Whether the result is another run's, which this one replays.
    pub(crate) reused: Option<bool>,
    pub(crate) reused_items: Option<u64>,
    pub(crate) degraded: Option<bool>,
    pub(crate) dropped_outputs: Option<Vec<String>>,
    pub(crate) flagged: Option<Vec<String>>,
    /// The line of the flow that it came from.
    pub(crate) line: Option<u32>,
}

/// A report, with what an answer adds to it.
macro_rules! report {
    ($(#[$meta:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Shape)]
        pub(crate) struct $name {
            pub(crate) run_id: String,
            pub(crate) flow: String,
            pub(crate) status: RunStatus,
            pub(crate) output: Value,
            pub(crate) error: Nullable<RunError>,
            /// Each node by its id.
            pub(crate) nodes: Ordered<ReportedNode>,
            pub(crate) usage: RunUsage,
            pub(crate) duration_ms: f64,
            $($more)*
        }
    };
}

report! {
    /// What a run came to.
    RunReport {}
}

report! {
    /// Where a run stands, with each of its nodes.
    RunDetail {
        pub(crate) started_at: String,
        pub(crate) ended_at: Nullable<String>,
        /// The run whose results this one begins with.
        pub(crate) replay_of: Nullable<String>,
        /// What it asks people, while it waits for them.
        #[shape(not_null)]
        pub(crate) asks: Option<Vec<Question>>,
        #[shape(not_null)]
        pub(crate) decisions: Option<Vec<DecisionMade>>,
    }
}
