//! An exec document made ready to run: ports compiled, edges resolved to indices, step kinds bound.
//!
//! Invariant: node order is document order, every index in an [`Edge`] is in range, and the graph has no
//! cycle, so the scheduler always makes progress.

use std::collections::HashMap;
use std::sync::Arc;

use stave_canon::Value;
use stave_diag::codes::run as codes;
use stave_exec::contract::StepContract;
use stave_exec::dataflow::{Cache, Cast, EdgeData, NodeData, Origin, State};
use stave_exec::{Document, On, Retry};

use crate::conditions::Condition;
use crate::failure::Kind;
use crate::port::CheckedPort;
use crate::references;
use crate::steps::{self, Step, StepKinds};
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
    /// Whether nodes are joined by transitions instead of by ports.
    pub is_workflow: bool,
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
    pub requires_context: Vec<String>,
    pub cache: Option<Cache>,
    /// What the system line promises of it.
    pub contract: Option<StepContract>,
    /// Of everything that its result follows from beside what reaches it; empty unless results are cached.
    pub fingerprint: String,
    /// How many executions of it may go on at once in this process.
    pub concurrency: Option<u32>,
    pub origin: Option<Origin>,
    pub text_origins: HashMap<String, Origin>,
    /// The nodes that it may run itself: as tools, or for every item of a list.
    pub tools: Vec<usize>,
    /// The nodes that wait for the edges into this one, because they may run it.
    pub runners: Vec<usize>,
    pub incoming: Vec<usize>,
    pub outgoing: Vec<usize>,
    /// In a workflow: the steps before it that its arguments name.
    pub named_steps: Vec<usize>,
}

#[derive(Debug)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub on: On,
    pub from_port: Option<String>,
    pub to_port: Option<String>,
    pub case: Option<String>,
    pub condition: Option<String>,
    /// The condition, when it can be decided without the sandbox.
    pub(crate) decided: Option<Condition>,
    pub transform: Option<String>,
    pub cast: Option<Cast>,
    pub origin: Option<Origin>,
}

impl Plan {
    /// Prepares a document. A step kind that this runtime does not have and a cycle are refused before
    /// anything runs.
    pub fn new(document: Arc<Document>, kinds: &StepKinds) -> Result<Plan, Failure> {
        let policy = Policy::read(&document.constants)?;
        let is_workflow = is_workflow(&document)?;
        let mut by_id = HashMap::new();
        let mut nodes = Vec::with_capacity(document.graph.nodes.len());
        for (index, node) in document.graph.nodes.iter().enumerate() {
            by_id.insert(node.id.clone(), index);
            nodes.push(plan_node(node, kinds, is_workflow)?);
        }
        let mut edges = Vec::with_capacity(document.graph.edges.len());
        for (index, edge) in document.graph.edges.iter().enumerate() {
            let data = EdgeData::read(&edge.extra).map_err(|error| bad_document(error.to_string()))?;
            let find = |id: &str| {
                by_id.get(id).copied().ok_or_else(|| bad_document(format!("no node has the id {id:?}")))
            };
            let (from, to) = (find(&edge.from)?, find(&edge.to)?);
            if let Some(node) = nodes.get_mut(from) {
                if data.case.is_some() && node.kind != steps::SWITCH {
                    let message = format!("an edge out of `{}` has a case, and it is no switch", node.id);
                    return Err(bad_document(message).at(node.origin));
                }
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
                case: data.case,
                decided: data.condition.as_deref().and_then(Condition::parse),
                condition: data.condition,
                transform: data.transform,
                cast: data.cast,
                origin: data.origin,
            });
        }
        let mut plan = Plan { document, nodes, edges, policy, is_workflow, by_id };
        plan.find_tools();
        plan.add_effects_of_tools();
        plan.refuse_lost_edges()?;
        plan.refuse_cycle()?;
        if is_workflow {
            plan.find_named_steps();
        }
        Ok(plan)
    }

    /// Finds the nodes that others run themselves.
    fn find_tools(&mut self) {
        for index in 0..self.nodes.len() {
            let Some(node) = self.nodes.get(index) else { continue };
            let tools = node.with.get("tools").and_then(Value::as_array).unwrap_or_default();
            let tools = tools.iter().filter_map(|tool| tool.get("maps_to")?.as_str());
            let each = node.with.get("node").filter(|_| node.kind == steps::EACH).and_then(Value::as_str);
            let tools: Vec<usize> = tools.chain(each).filter_map(|id| self.index(id)).collect();
            for tool in &tools {
                if let Some(tool) = self.nodes.get_mut(*tool) {
                    tool.runners.push(index);
                }
            }
            if let Some(node) = self.nodes.get_mut(index) {
                node.tools = tools;
            }
        }
    }

    /// What a node runs itself has its effects on the node's behalf, at any depth.
    fn add_effects_of_tools(&mut self) {
        loop {
            let has_effects = |index: &usize| self.nodes.get(*index).is_some_and(|node| node.effects);
            let found =
                self.nodes.iter().position(|node| !node.effects && node.tools.iter().any(has_effects));
            let Some(node) = found.and_then(|index| self.nodes.get_mut(index)) else { return };
            node.effects = true;
        }
    }

    /// A node that runs only when another one calls it gives its result to the caller. An edge out of it would
    /// never carry anything.
    fn refuse_lost_edges(&self) -> Result<(), Failure> {
        let lost = self.edges.iter().find(|edge| self.nodes.get(edge.from).is_some_and(|node| node.tool));
        let Some((edge, node)) = lost.and_then(|edge| Some((edge, self.nodes.get(edge.from)?))) else {
            return Ok(());
        };
        let message = format!(
            "`{}` runs only when another node calls it, and an edge out of it carries nothing",
            node.id
        );
        Err(bad_document(message).at(edge.origin.or(node.origin)))
    }

    /// Finds the steps that arguments name and that are done by then whatever the timing.
    fn find_named_steps(&mut self) {
        for index in 0..self.nodes.len() {
            let Some(node) = self.nodes.get(index) else { continue };
            let mut named = Vec::new();
            for value in node.with.values() {
                references::each_step(value, &mut |path| {
                    let step = references::split_step(path, |id| self.by_id.contains_key(id));
                    named.extend(step.and_then(|(id, _)| self.index(&id)));
                });
            }
            if !named.is_empty() {
                let before = self.steps_before(index);
                named.retain(|step| before.get(*step) == Some(&true));
            }
            if let Some(node) = self.nodes.get_mut(index) {
                node.named_steps = named;
            }
        }
    }

    fn steps_before(&self, index: usize) -> Vec<bool> {
        let mut before = vec![false; self.nodes.len()];
        let mut waiting = vec![index];
        while let Some(index) = waiting.pop() {
            let incoming = self.nodes.get(index).map(|node| node.incoming.as_slice()).unwrap_or_default();
            for edge in incoming.iter().filter_map(|edge| self.edges.get(*edge)) {
                if let Some(seen) = before.get_mut(edge.from).filter(|seen| !**seen) {
                    *seen = true;
                    waiting.push(edge.from);
                }
            }
        }
        before
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

/// Whether the nodes of a document have no ports, as those of a workflow. All of them have, or none has.
fn is_workflow(document: &Document) -> Result<bool, Failure> {
    let has_ports =
        |node: &stave_exec::Node| node.extra.contains_key("inputs") || node.extra.contains_key("outputs");
    let nodes = &document.graph.nodes;
    if !nodes.iter().any(has_ports) {
        return Ok(true);
    }
    match nodes.iter().find(|node| !has_ports(node)) {
        None => Ok(false),
        Some(node) => {
            let message = format!("node `{}` has no ports, and others have some", node.id);
            Err(bad_document(message).at(Origin::of(&node.extra)))
        }
    }
}

fn plan_node(node: &stave_exec::Node, kinds: &StepKinds, is_workflow: bool) -> Result<Node, Failure> {
    let data =
        NodeData::read(&node.extra).map_err(|error| bad_document(format!("node `{}`: {error}", node.id)))?;
    let data = data.unwrap_or_else(|| NodeData {
        effects: steps::has_effects(&node.kind),
        origin: Origin::of(&node.extra),
        ..NodeData::default()
    });
    let contract = StepContract::read(&node.extra)
        .map_err(|error| bad_document(format!("node `{}`: {error}", node.id)))?;
    let step = kinds.get(&node.kind).ok_or_else(|| {
        let message = format!(
            "node `{}` is a `{}` step, which this runtime does not have{}",
            node.id,
            node.kind,
            StepKinds::advice(&node.kind)
        );
        Failure::new(codes::UNKNOWN_STEP_KIND, Kind::Refused, message).at(data.origin)
    })?;
    let compile = |ports: Vec<stave_exec::dataflow::Port>| {
        ports.into_iter().map(CheckedPort::new).collect::<Result<Vec<_>, Failure>>()
    };
    Ok(Node {
        id: node.id.clone(),
        kind: node.kind.clone(),
        step,
        with: if is_workflow && node.kind != steps::SWITCH {
            references::typed(&node.with)
        } else {
            node.with.clone()
        },
        timeout_ms: node.timeout_ms,
        retry: node.retry,
        inputs: compile(data.inputs)?,
        outputs: compile(data.outputs)?,
        state: data.state,
        tool: data.tool,
        effects: data.effects,
        requires_context: data.requires_context,
        fingerprint: if data.cache.is_some() { fingerprint(node) } else { String::new() },
        cache: data.cache,
        contract,
        concurrency: data.concurrency,
        origin: data.origin,
        text_origins: data.text_origins.into_iter().collect(),
        tools: Vec::new(),
        runners: Vec::new(),
        incoming: Vec::new(),
        outgoing: Vec::new(),
        named_steps: Vec::new(),
    })
}

/// The kind, the arguments and the ports of a node; not its place in the file, its id or its times.
fn fingerprint(node: &stave_exec::Node) -> String {
    let port = |key: &str| node.extra.get(key).cloned().unwrap_or_default();
    let parts =
        vec![node.kind.as_str().into(), Value::Object(node.with.clone()), port("inputs"), port("outputs")];
    stave_canon::sha256_hex(stave_canon::compact_utf8(&Value::Array(parts)))
}

fn bad_document(message: impl Into<String>) -> Failure {
    Failure::new(codes::BAD_DOCUMENT, Kind::Configuration, message)
}
