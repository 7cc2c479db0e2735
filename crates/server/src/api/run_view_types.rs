//! Runs as the studio shows them: a run with its nodes and edges, one node whole, and two runs beside each other.

use stave_canon::{Object, Value};
use stave_runtime::Status;
use stave_runtime::journal::RunStatus;
use stave_shape::{Nullable, Ordered, Shape};

use super::prompt_types::AskedPrompt;
use super::run_types::{DecisionMade, NodeError, Question, RunError, RunUsage, Usage};

/// Where something came from in the flow's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(name = "Place")]
pub(crate) struct FilePlace {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A file or a text to run.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct RunText {
    pub(crate) path: String,
    /// Another text than the file holds.
    pub(crate) text: Option<String>,
    pub(crate) input: Option<Value>,
}

/// Where a node of a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum NodeRunStatus {
    Waiting,
    Running,
    Ok,
    Error,
    Skipped,
    Cancelled,
    /// It asks a person.
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
            /// When it started, counted from the start of the run.
            pub(crate) started_ms: Nullable<f64>,
            pub(crate) reason: Nullable<String>,
            pub(crate) error: Nullable<NodeError>,
            pub(crate) model: Nullable<String>,
            pub(crate) usage: Nullable<Usage>,
            pub(crate) cost_micros: Nullable<u64>,
            pub(crate) calls: u32,
            pub(crate) cached: bool,
            /// Whether the result is another run's, which this one replays.
            pub(crate) reused: bool,
            pub(crate) degraded: bool,
            pub(crate) dropped_outputs: Vec<String>,
            pub(crate) flagged: Vec<String>,
            pub(crate) logs: Vec<String>,
            pub(crate) inputs: Nullable<Object>,
            pub(crate) outputs: Nullable<Object>,
            /// Whether a value is only its beginning.
            pub(crate) truncated: bool,
            /// How many prompts were put to models.
            pub(crate) prompts: u64,
            /// What the node asks people.
            pub(crate) asks: Vec<Question>,
            pub(crate) origin: Nullable<FilePlace>,
            /// Where the texts of the node begin.
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
    /// A node of a run with whole values and with what models were asked on its behalf.
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
    /// What it carried.
    pub(crate) value: Option<Value>,
    /// Why it carried nothing.
    #[shape(not_null)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum EdgeState {
    Carried,
    NotTaken,
    None,
}

/// A run with every node and every edge.
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
    /// Whether the request or the output is only its beginning.
    pub(crate) truncated: bool,
    pub(crate) error: Nullable<RunError>,
    pub(crate) usage: RunUsage,
    pub(crate) source: RunSource,
    pub(crate) nodes: Vec<NodeRun>,
    pub(crate) edges: Vec<EdgeRun>,
    pub(crate) decisions: Vec<DecisionMade>,
}

/// The file that a run's flow came from.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RunSource {
    pub(crate) file: String,
    /// Its path in the studio; null when it is not there.
    pub(crate) path: Nullable<String>,
    /// Whether the file holds another text now; null when that is not known.
    pub(crate) changed: Nullable<bool>,
    /// What the file holds now.
    pub(crate) text: Nullable<String>,
}

/// Two runs beside each other.
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
    pub(crate) usage: Nullable<Usage>,
    pub(crate) cost_micros: Nullable<u64>,
    pub(crate) cached: bool,
    pub(crate) reused: bool,
    pub(crate) error: Nullable<NodeError>,
}

/// A place where two values differ; a side that is absent has nothing there.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Difference {
    /// A JSON pointer.
    pub(crate) path: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}
