//! An exec document made ready to run: ports compiled, edges resolved to indices, step kinds bound.
//!
//! Invariant: node order is document order, every index in an [`Edge`] is in range, and the graph has no
//! cycle, so the scheduler always makes progress.

use std::collections::HashMap;
use std::sync::Arc;

use stave_diag::codes::run as codes;
use stave_exec::dataflow::{Cast, EdgeData, NodeData, Origin, State};
use stave_exec::{Document, On, Retry};

use crate::failure::Kind;
use crate::port::CheckedPort;
use crate::steps::{Step, StepKinds};
use crate::{Failure, policy::Policy};

/// The ids of the two nodes that stand for the request and the response.
pub const INPUT: &str = "_input";
pub const OUTPUT: &str = "_output";

#[derive(Debug)]
pub struct Plan {
    pub document: Arc<Document>,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub policy: Policy,
    by_id: HashMap<String, usize>,
}

#[derive(Debug)]
pub struct Node {
    pub id: String,
    pub kind: String,
    pub step: Arc<dyn Step>,
    pub with: stave_canon::Object,
    pub timeout_ms: u32,
    pub retry: Retry,
    pub inputs: Vec<CheckedPort>,
    pub outputs: Vec<CheckedPort>,
    pub state: Option<State>,
    /// Whether it runs only when a model calls it.
    pub tool: bool,
    pub effects: bool,
    /// How many executions of it may go on at once in this process.
    pub concurrency: Option<u32>,
    pub origin: Option<Origin>,
    pub text_origins: HashMap<String, Origin>,
    pub incoming: Vec<usize>,
    pub outgoing: Vec<usize>,
}

#[derive(Debug)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub on: On,
    pub from_port: Option<String>,
    pub to_port: Option<String>,
    pub condition: Option<String>,
    pub transform: Option<String>,
    pub cast: Option<Cast>,
    pub origin: Option<Origin>,
}

impl Plan {
    /// Prepares a document. A document that no flow was lowered to, a step kind that this runtime does
    /// not have and a cycle are refused before anything runs.
    pub fn new(document: Arc<Document>, kinds: &StepKinds) -> Result<Plan, Failure> {
        let policy = Policy::read(&document.constants)?;
        let mut by_id = HashMap::new();
        let mut nodes = Vec::with_capacity(document.graph.nodes.len());
        for (index, node) in document.graph.nodes.iter().enumerate() {
            by_id.insert(node.id.clone(), index);
            nodes.push(plan_node(node, kinds)?);
        }
        let mut edges = Vec::with_capacity(document.graph.edges.len());
        for (index, edge) in document.graph.edges.iter().enumerate() {
            let data = EdgeData::read(&edge.extra).map_err(|error| bad_document(error.to_string()))?;
            let find = |id: &str| {
                by_id.get(id).copied().ok_or_else(|| bad_document(format!("no node has the id {id:?}")))
            };
            let (from, to) = (find(&edge.from)?, find(&edge.to)?);
            if let Some(node) = nodes.get_mut(from) {
                node.outgoing.push(index);
            }
            if let Some(node) = nodes.get_mut(to) {
                node.incoming.push(index);
            }
            edges.push(Edge {
                from,
                to,
                on: edge.on,
                from_port: data.from_port,
                to_port: data.to_port,
                condition: data.condition,
                transform: data.transform,
                cast: data.cast,
                origin: data.origin,
            });
        }
        let plan = Plan { document, nodes, edges, policy, by_id };
        plan.refuse_cycle()?;
        Ok(plan)
    }

    #[must_use]
    pub fn index(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The edges into one port of a node; `None` stands for the whole response of `_output`.
    pub fn feeders<'p>(&'p self, node: &'p Node, port: Option<&'p str>) -> impl Iterator<Item = usize> + 'p {
        node.incoming
            .iter()
            .copied()
            .filter(move |index| self.edges.get(*index).is_some_and(|edge| edge.to_port.as_deref() == port))
    }

    /// Takes nodes away whose predecessors are all gone; what is left over has a cycle in it.
    fn refuse_cycle(&self) -> Result<(), Failure> {
        let mut waiting: Vec<usize> = self.nodes.iter().map(|node| node.incoming.len()).collect();
        let mut free: Vec<usize> =
            (0..self.nodes.len()).filter(|index| waiting.get(*index) == Some(&0)).collect();
        let mut gone = 0;
        while let Some(index) = free.pop() {
            gone += 1;
            let outgoing = self.nodes.get(index).map(|node| node.outgoing.as_slice()).unwrap_or_default();
            for edge in outgoing.iter().filter_map(|edge| self.edges.get(*edge)) {
                if let Some(left) = waiting.get_mut(edge.to) {
                    *left -= 1;
                    if *left == 0 {
                        free.push(edge.to);
                    }
                }
            }
        }
        if gone == self.nodes.len() {
            return Ok(());
        }
        let stuck = self.nodes.iter().zip(&waiting).filter(|(_, left)| **left > 0);
        let names: Vec<&str> = stuck.map(|(node, _)| node.id.as_str()).collect();
        Err(bad_document(format!("the graph has a cycle through {}", names.join(", "))))
    }
}

fn plan_node(node: &stave_exec::Node, kinds: &StepKinds) -> Result<Node, Failure> {
    let data =
        NodeData::read(&node.extra).map_err(|error| bad_document(format!("node `{}`: {error}", node.id)))?;
    let data = data.ok_or_else(|| {
        bad_document(format!(
            "node `{}` has no ports; only documents compiled from a flow can run here",
            node.id
        ))
    })?;
    let step = kinds.get(&node.kind).ok_or_else(|| {
        let message =
            format!("node `{}` is a `{}` step, which this runtime does not have", node.id, node.kind);
        Failure::new(codes::UNKNOWN_STEP_KIND, Kind::Configuration, message).at(data.origin)
    })?;
    let compile = |ports: Vec<stave_exec::dataflow::Port>| {
        ports.into_iter().map(CheckedPort::new).collect::<Result<Vec<_>, Failure>>()
    };
    Ok(Node {
        id: node.id.clone(),
        kind: node.kind.clone(),
        step,
        with: node.with.clone(),
        timeout_ms: node.timeout_ms,
        retry: node.retry,
        inputs: compile(data.inputs)?,
        outputs: compile(data.outputs)?,
        state: data.state,
        tool: data.tool,
        effects: data.effects,
        concurrency: data.concurrency,
        origin: data.origin,
        text_origins: data.text_origins.into_iter().collect(),
        incoming: Vec::new(),
        outgoing: Vec::new(),
    })
}

fn bad_document(message: impl Into<String>) -> Failure {
    Failure::new(codes::BAD_DOCUMENT, Kind::Configuration, message)
}
