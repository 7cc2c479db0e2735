//! Where the values of an input port come from, for the blocks of a prompt.
//!
//! A field of the request is the user's, a node with session state gives memory, an operation that
//! fetches gives retrieved documents, a model gives a tool's result. Any other node passes on the least
//! trusted of what it was given, and one that was given nothing is the author's own.

use stave_flow::graph::{self, Connected};
use stave_flow::model::{Flow, Node, Scope};

/// From most to least trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Provenance {
    Developer,
    Memory,
    Tool,
    Retrieval,
    User,
}

/// The word for one input port of a node.
pub(super) fn of_input(flow: &Flow, node: &Node, port: &str) -> &'static str {
    let edges = graph::connected(flow);
    match at_input(&edges, node, port, edges.len()) {
        Provenance::Developer => "developer",
        Provenance::Memory => "memory",
        Provenance::Tool => "tool",
        Provenance::Retrieval => "retrieval",
        Provenance::User => "user",
    }
}

/// `depth` bounds the walk, so that a cyclic flow that was not checked still ends.
fn at_input(edges: &[Connected<'_>], node: &Node, port: &str, depth: usize) -> Provenance {
    let into = edges.iter().filter(|edge| {
        edge.destination.node().is_some_and(|target| target.id.value == node.id.value)
            && edge.destination.port().is_some_and(|target| target.name.as_str() == port)
    });
    let sources = into.map(|edge| match edge.origin.node() {
        None => Provenance::User,
        Some(source) => of_node(edges, source, depth),
    });
    sources.max().unwrap_or(Provenance::User)
}

fn of_node(edges: &[Connected<'_>], node: &Node, depth: usize) -> Provenance {
    let Some(depth) = depth.checked_sub(1) else { return Provenance::User };
    let is_session =
        node.state.as_ref().and_then(|state| state.scope).is_some_and(|scope| scope.value == Scope::Session);
    if is_session {
        return Provenance::Memory;
    }
    if node.prompt.is_some() {
        return Provenance::Tool;
    }
    if node.op().is_some_and(|op| op.starts_with("http.") || op.starts_with("hopsworks.")) {
        return Provenance::Retrieval;
    }
    let inputs = node.inputs.iter().map(|port| at_input(edges, node, port.name.as_str(), depth));
    inputs.max().unwrap_or(Provenance::Developer)
}
