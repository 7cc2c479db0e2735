//! Where the values of an input port come from, for the blocks of a prompt.
//!
//! A field of the request is the user's, and a node with session state gives memory. What a model or an operation
//! gives is said by its descriptor. Any other node passes on the least trusted of what it was given, and one that was
//! given nothing is the author's own.

use stave_flow::graph::{self, Connected};
use stave_flow::model::{Flow, Node, NodeStateScope};
use stave_operations::{LLM_CHAT, ResultProvenance};
use stave_vocabulary::Provenance;

/// The word for one input port of a node.
pub(super) fn of_input(flow: &Flow, node: &Node, port: &str) -> &'static str {
    let edges = graph::connected(flow);
    (Walk { flow, edges: &edges }).at_input(node, port, edges.len()).word()
}

struct Walk<'f> {
    flow: &'f Flow,
    edges: &'f [Connected<'f>],
}

impl Walk<'_> {
    /// `depth` bounds the walk, so that a cyclic flow that was not checked still ends.
    fn at_input(&self, node: &Node, port: &str, depth: usize) -> Provenance {
        self.fed(node, port, depth).unwrap_or(Provenance::User)
    }

    /// The least trusted of what edges bring to an input; none without an edge.
    fn fed(&self, node: &Node, port: &str, depth: usize) -> Option<Provenance> {
        let into = self.edges.iter().filter(|edge| {
            edge.destination.node().is_some_and(|target| target.id.value == node.id.value)
                && edge.destination.port().is_some_and(|target| target.name.as_str() == port)
        });
        let sources = into.map(|edge| match edge.origin.node() {
            None => Provenance::User,
            Some(source) => self.of_node(source, depth),
        });
        sources.max()
    }

    fn of_node(&self, node: &Node, depth: usize) -> Provenance {
        let Some(depth) = depth.checked_sub(1) else { return Provenance::User };
        if let Some(own) = own(node) {
            return own;
        }
        let inputs = node.inputs.iter().map(|port| self.at_input(node, port.name.as_str(), depth));
        let called = node.descriptor().filter(|operation| operation.provenance == ResultProvenance::Called);
        let called = called.and_then(|_| self.flow.nodes.get(node.each()?.node.as_str()));
        let called = called.and_then(|called| self.of_called(called, depth));
        inputs.chain(called).max().unwrap_or(Provenance::Developer)
    }

    /// What a node gives whose items come from its caller: its own, or what edges bring to its other inputs.
    fn of_called(&self, node: &Node, depth: usize) -> Option<Provenance> {
        let fed = || node.inputs.iter().filter_map(|port| self.fed(node, port.name.as_str(), depth)).max();
        own(node).or_else(fed)
    }
}

/// What a node gives whatever it was given; none when that depends on its inputs.
fn own(node: &Node) -> Option<Provenance> {
    let scope = node.state.as_ref().and_then(|state| state.scope);
    if scope.is_some_and(|scope| scope.value == NodeStateScope::Session) {
        return Some(Provenance::Memory);
    }
    let of = if node.prompt.is_read() { Some(&LLM_CHAT) } else { node.descriptor() };
    match of?.provenance {
        ResultProvenance::Tool => Some(Provenance::Tool),
        ResultProvenance::Retrieval => Some(Provenance::Retrieval),
        ResultProvenance::Inputs | ResultProvenance::Called => None,
    }
}
