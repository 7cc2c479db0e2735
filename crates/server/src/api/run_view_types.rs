//! Runs as the studio shows them: a run with its nodes and edges, one node whole, and two runs beside each other.

use stave_canon::{Object, Value};
use stave_exec::dataflow::Origin;
use stave_runtime::Status;
use stave_runtime::journal::RunStatus;
use stave_runtime::report_document::{DecisionMade, NodeError, OpenQuestion, RunError, RunUsage, TokenUsage};
use stave_shape::{Nullable, Ordered, Shape};

use super::prompt_types::AskedPrompt;

/// Location in the flow file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(name = "Place")]
pub(crate) struct FilePlace {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl From<Origin> for FilePlace {
    fn from(origin: Origin) -> Self {
        FilePlace { line: origin.line, column: origin.column }
    }
}

/// A file or a text to run.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct RunText {
    pub(crate) path: String,
    /// Text to run instead of the file's content.
    pub(crate) text: Option<String>,
    pub(crate) input: Option<Value>,
}

/// Status of a node of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum NodeRunStatus {
    Waiting,
    Running,
    Ok,
    Error,
    Skipped,
    Cancelled,
    /// Waits for a person's decision.
    Asks,
}

/// A node of a run, with what an answer adds to it.
macro_rules! node_run {
    ($(#[$meta:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Shape)]
        pub(crate) struct $name {
            pub(crate) id: String,
            #[shape(rename = "type")]
            pub(crate) kind: String,
            pub(crate) status: NodeRunStatus,
            pub(crate) attempts: u32,
            pub(crate) duration_ms: f64,
            /// Start time in milliseconds after the start of the run.
            pub(crate) started_ms: Nullable<f64>,
            pub(crate) reason: Nullable<String>,
            pub(crate) error: Nullable<NodeError>,
            pub(crate) model: Nullable<String>,
            pub(crate) usage: Nullable<TokenUsage>,
            pub(crate) cost_micros: Nullable<u64>,
            pub(crate) calls: u32,
            pub(crate) cached: bool,
            /// Whether the result was reused from the run that this run replays.
            pub(crate) reused: bool,
            pub(crate) degraded: bool,
            pub(crate) dropped_outputs: Vec<String>,
            pub(crate) flagged: Vec<String>,
            pub(crate) logs: Vec<String>,
            pub(crate) inputs: Nullable<Object>,
            pub(crate) outputs: Nullable<Object>,
            /// Whether a value is truncated.
            pub(crate) truncated: bool,
            /// Number of prompts sent to models.
            pub(crate) prompts: u64,
            /// Open questions of the node.
            pub(crate) asks: Vec<OpenQuestion>,
            pub(crate) origin: Nullable<FilePlace>,
            /// Locations of the node's texts in the flow file.
            pub(crate) places: Ordered<FilePlace>,
            $($more)*
        }
    };
}

node_run! {
    /// A node of a run.
    NodeRun {}
}

node_run! {
    /// A node of a run with complete values and its prompts.
    NodeRunWhole {
        pub(crate) questions: Vec<AskedPrompt>,
    }
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct EdgeRun {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) from_port: Nullable<String>,
    pub(crate) to_port: Nullable<String>,
    pub(crate) origin: Nullable<FilePlace>,
    pub(crate) state: EdgeState,
    /// The value, if the edge carried one.
    pub(crate) value: Option<Value>,
    /// Why the edge carried no value.
    #[shape(not_null)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum EdgeState {
    Carried,
    NotTaken,
    None,
}

/// A run with all nodes and edges.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunView {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
    pub(crate) started_at: String,
    pub(crate) ended_at: Nullable<String>,
    pub(crate) duration_ms: f64,
    pub(crate) replay_of: Nullable<String>,
    pub(crate) request: Value,
    pub(crate) output: Value,
    /// Whether the request or the output is truncated.
    pub(crate) truncated: bool,
    pub(crate) error: Nullable<RunError>,
    pub(crate) usage: RunUsage,
    pub(crate) source: RunSource,
    pub(crate) nodes: Vec<NodeRun>,
    pub(crate) edges: Vec<EdgeRun>,
    pub(crate) decisions: Vec<DecisionMade>,
}

/// Source file of a run's flow.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunSource {
    pub(crate) file: String,
    /// Path in the studio; null if the file is not there.
    pub(crate) path: Nullable<String>,
    /// Whether the file has changed since the run; null if unknown.
    pub(crate) changed: Nullable<bool>,
    /// Current content of the file.
    pub(crate) text: Nullable<String>,
}

/// Comparison of two runs.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Comparison {
    pub(crate) a: RunSide,
    pub(crate) b: RunSide,
    pub(crate) same_document: bool,
    pub(crate) request: Vec<Difference>,
    pub(crate) output: Vec<Difference>,
    pub(crate) nodes: Vec<NodeComparison>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunSide {
    pub(crate) run_id: String,
    pub(crate) flow: String,
    pub(crate) status: RunStatus,
    pub(crate) started_at: String,
    pub(crate) duration_ms: f64,
    pub(crate) usage: RunUsage,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct NodeComparison {
    pub(crate) id: String,
    pub(crate) a: Nullable<NodeSide>,
    pub(crate) b: Nullable<NodeSide>,
    pub(crate) inputs: Vec<Difference>,
    pub(crate) outputs: Vec<Difference>,
    pub(crate) same: bool,
    pub(crate) origin: Nullable<FilePlace>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct NodeSide {
    pub(crate) status: Status,
    pub(crate) duration_ms: f64,
    pub(crate) attempts: u32,
    pub(crate) model: Nullable<String>,
    pub(crate) usage: Nullable<TokenUsage>,
    pub(crate) cost_micros: Nullable<u64>,
    pub(crate) cached: bool,
    pub(crate) reused: bool,
    pub(crate) error: Nullable<NodeError>,
}

/// A difference between two values. A missing side has no value at this path.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Difference {
    /// A JSON pointer.
    pub(crate) path: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}
