//! Where the values of an input port come from, for the blocks of a prompt.
//!
//! A field of the request is the user's, and a node with session state gives memory. What a model or an operation
//! gives is said by its descriptor. Any other node passes on the least trusted of what it was given, and one that was
//! given nothing is the author's own.
//!
//! Invariant: the work grows with the edges, whatever their layout. Each node is known once, and an edge is followed
//! again only when its source became less trusted, which happens a few times at most.

use std::collections::HashMap;

use stave_flow::graph::Connected;
use stave_flow::model::{Flow, Node, NodeStateScope};
use stave_operations::{LLM_CHAT, ResultProvenance};
use stave_vocabulary::Provenance;

/// The edges into each input, by node and port: the nodes that they leave, or none for the request.
type Feeders<'f> = HashMap<(&'f str, &'f str), Vec<Option<&'f str>>>;

/// What a node passes on: what it makes itself, or, for a node whose items come from a caller, what edges bring to its
/// other inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Giver<'f> {
    Node(&'f str),
    Called(&'f str),
}

/// The provenance of every input of a flow.
#[derive(Debug)]
pub(super) struct InputProvenance<'f> {
    feeders: Feeders<'f>,
    givers: HashMap<Giver<'f>, Provenance>,
}

impl<'f> InputProvenance<'f> {
    pub(super) fn new(flow: &'f Flow, edges: &[Connected<'f>]) -> InputProvenance<'f> {
        let mut feeders = Feeders::new();
        for edge in edges {
            if let (Some(node), Some(port)) = (edge.destination.node(), edge.destination.port()) {
                let origin = edge.origin.node().map(|source| source.id.as_str());
                feeders.entry((node.id.as_str(), port.name.as_str())).or_default().push(origin);
            }
        }
        let mut settling = Settling { feeders: &feeders, givers: HashMap::new(), takers: HashMap::new() };
        for node in flow.nodes.values() {
            settling.add(flow, node);
        }
        let givers = settling.settle();
        InputProvenance { feeders, givers }
    }

    /// The word for one input port of a node.
    pub(super) fn word(&self, node: &Node, port: &str) -> &'static str {
        let feeders = self.feeders.get(&(node.id.as_str(), port)).into_iter().flatten();
        let given = feeders.map(|source| match source {
            Some(source) => self.givers.get(&Giver::Node(source)).copied().unwrap_or(Provenance::User),
            None => Provenance::User,
        });
        given.max().unwrap_or(Provenance::User).word()
    }
}

/// The provenances while they are found: what is known so far only ever becomes less trusted.
struct Settling<'f, 'm> {
    feeders: &'m Feeders<'f>,
    givers: HashMap<Giver<'f>, Provenance>,
    /// Who passes on what each one gives.
    takers: HashMap<Giver<'f>, Vec<Giver<'f>>>,
}

impl<'f> Settling<'f, '_> {
    fn add(&mut self, flow: &'f Flow, node: &'f Node) {
        let giver = Giver::Node(node.id.as_str());
        if let Some(own) = own(node) {
            self.givers.insert(giver, own);
            return;
        }
        let is_unfed = self.take(giver, node);
        self.raise(giver, if is_unfed { Provenance::User } else { Provenance::Developer });
        let called = node.descriptor().filter(|operation| operation.provenance == ResultProvenance::Called);
        let called = called.and_then(|_| flow.nodes.get(node.each()?.node.as_str()));
        if let Some(called) = called {
            self.add_called(called);
            self.takers.entry(Giver::Called(called.id.as_str())).or_default().push(giver);
        }
    }

    /// A node whose items come from a caller: an input that no edge feeds takes them.
    fn add_called(&mut self, node: &'f Node) {
        let giver = Giver::Called(node.id.as_str());
        if self.givers.contains_key(&giver) {
            return;
        }
        self.givers.insert(giver, own(node).unwrap_or(Provenance::Developer));
        if own(node).is_none() {
            self.take(giver, node);
        }
    }

    /// Lets a giver pass on what edges bring to the inputs of a node; whether one of the inputs has no edge.
    fn take(&mut self, giver: Giver<'f>, node: &'f Node) -> bool {
        let mut is_unfed = false;
        for port in &node.inputs {
            let sources = self.feeders.get(&(node.id.as_str(), port.name.as_str()));
            is_unfed |= sources.is_none();
            for source in sources.into_iter().flatten() {
                match source {
                    Some(source) => self.takers.entry(Giver::Node(source)).or_default().push(giver),
                    None => {
                        self.raise(giver, Provenance::User);
                    }
                }
            }
        }
        is_unfed
    }

    /// Whether a giver is less trusted than before.
    fn raise(&mut self, giver: Giver<'f>, given: Provenance) -> bool {
        let known = self.givers.entry(giver).or_insert(Provenance::System);
        let rises = *known < given;
        *known = given.max(*known);
        rises
    }

    fn settle(mut self) -> HashMap<Giver<'f>, Provenance> {
        let mut open: Vec<Giver<'f>> = self.givers.keys().copied().collect();
        let takers = std::mem::take(&mut self.takers);
        while let Some(giver) = open.pop() {
            let given = self.givers.get(&giver).copied().unwrap_or(Provenance::User);
            for taker in takers.get(&giver).into_iter().flatten() {
                if self.raise(*taker, given) {
                    open.push(*taker);
                }
            }
        }
        self.givers
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
