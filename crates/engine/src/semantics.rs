//! How values reach nodes: through ports ([`Ports`](crate::ports::Ports)), or along transitions
//! ([`Transitions`](crate::transitions::Transitions)). A document has one set of rules for all its nodes.

use std::fmt;

use stave_canon::{Object, Value};

use crate::failure::Failure;
use crate::frame::Frame;
use crate::graph::{EngineEdge, EngineNode, Graph};
use crate::routes::Signal;
use crate::size::CopyLimit;

/// What reaches a node whose edges are all settled.
#[derive(Debug)]
pub(crate) enum Readiness {
    Ready(Object),
    /// It never starts, for this reason.
    Skip(String),
    /// It fails before it starts: two values meet where one belongs, or too much reaches it.
    Fail(Failure),
}

pub(crate) trait Semantics: fmt::Debug + Send + Sync {
    /// Whether arguments hold references to the request and to other steps, as those of a workflow do.
    fn reads_references(&self) -> bool;

    /// The name under which the whole result of a step is kept, when steps have no ports.
    fn result_name(&self) -> Option<&'static str>;

    /// What follows from the edges into a node, all of which are settled.
    fn readiness(&self, graph: &Graph, frame: &Frame, node: &EngineNode) -> Readiness;

    /// The values that edges bring to a node which another one runs.
    fn brought(&self, graph: &Graph, frame: &Frame, node: &EngineNode) -> Option<Object>;

    /// What an edge out of a step that succeeded carries, before the edge's expressions are evaluated.
    fn carried(
        &self,
        graph: &Graph,
        edge: &EngineEdge,
        source: &EngineNode,
        outputs: &Object,
        room: &mut CopyLimit,
    ) -> Result<Signal, Failure>;

    /// What an edge out of a step that failed carries, before the edge's expressions are evaluated.
    fn carried_error(&self, error: Value) -> Signal;

    /// What later steps can name of a step.
    fn named_result(
        &self,
        node: &EngineNode,
        outputs: &Result<Object, Failure>,
        attempts: u32,
    ) -> Option<Value>;

    /// The response of a run in which nothing can start any more.
    fn response(&self, graph: &Graph, frame: &Frame) -> Result<Value, Failure>;
}
