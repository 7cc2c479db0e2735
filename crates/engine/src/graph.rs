//! An exec document as a graph: edges resolved to indices, the nodes that others run themselves, and what the
//! arguments of a workflow name.
//!
//! Invariant: node order is document order, every index in an [`EngineEdge`] is in range, and the graph has no cycle, so
//! a run always makes progress.

use std::collections::HashMap;
use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_exec::dataflow::{self, Cast, EdgeData, NodeData, Origin};
use stave_exec::wdl::typed_arguments;
use stave_exec::{Document, On, called_nodes, wait_cycle};
use stave_operations::{Descriptor, MCP_CALL, SWITCH, step_kind};
use stave_vocabulary::OnDenied;

use crate::failure::{Failure, FailureKind};
use crate::ports::Ports;
use crate::references;
use crate::semantics::Semantics;
use crate::transitions::Transitions;

/// The ids of the two nodes that represent the request and the response.
pub const INPUT: &str = "_input";
pub const OUTPUT: &str = "_output";

/// The structure of a document.
#[derive(Debug)]
pub struct Graph {
    /// Shared with the code that binds a step to each node.
    pub nodes: Vec<Arc<EngineNode>>,
    pub edges: Vec<EngineEdge>,
    pub(crate) semantics: &'static dyn Semantics,
    by_id: HashMap<String, usize>,
}

/// A node and how it is joined to others.
#[derive(Debug)]
pub struct EngineNode {
    pub id: String,
    pub kind: String,
    /// The arguments as they are written; in a workflow with their literals read.
    pub with: Object,
    /// The ports, the state and the other properties that a flow adds.
    pub data: NodeData,
    /// Whether it or a node that it runs may change something outside the run.
    pub effects: bool,
    /// The nodes that it may run itself: as tools, or for every item of a list.
    pub tools: Vec<usize>,
    /// The nodes that wait for the edges into this one, because they may run it.
    pub runners: Vec<usize>,
    pub incoming: Vec<usize>,
    pub outgoing: Vec<usize>,
    /// In a workflow: the steps before it that its arguments name.
    pub named_steps: Vec<usize>,
}

/// An edge and what its expressions are. The graph does not evaluate them.
#[derive(Debug)]
pub struct EngineEdge {
    pub from: usize,
    pub to: usize,
    pub on: On,
    pub from_port: Option<String>,
    pub to_port: Option<String>,
    pub case: Option<String>,
    pub condition: Option<String>,
    /// Whether the edge is active when no edge with a condition from the same port is.
    pub otherwise: bool,
    pub transform: Option<String>,
    pub cast: Option<Cast>,
    pub origin: Option<Origin>,
}

impl EngineNode {
    /// Whether a failure of the node is one that no error route takes. What a rule forbids must not look like a mishap, unless
    /// the author says so for the prompts that governance denies. A run without budget must not spend more on its error
    /// route.
    #[must_use]
    pub fn is_final(&self, failure: &Failure) -> bool {
        match failure.kind {
            FailureKind::Budget => true,
            FailureKind::Refused => {
                let word = self.with.get("on_denied").and_then(Value::as_str).and_then(OnDenied::from_word);
                failure.code != codes::PROMPT_REFUSED || word != Some(OnDenied::ErrorPort)
            }
            _ => false,
        }
    }

    /// The same for the node as one item of a list that collects failures: the denial of a prompt fails its item alone, unless
    /// the author says that it ends the run.
    #[must_use]
    pub fn is_final_for_list(&self, failure: &Failure) -> bool {
        let is_item = failure.kind == FailureKind::Refused
            && failure.code == codes::PROMPT_REFUSED
            && !self.with.contains_key("on_denied");
        self.is_final(failure) && !is_item
    }

    /// Whether it runs only when another node calls it.
    #[must_use]
    pub fn is_tool(&self) -> bool {
        self.data.tool
    }

    /// Its place in the source.
    #[must_use]
    pub fn origin(&self) -> Option<Origin> {
        self.data.origin
    }
}

impl Graph {
    /// Resolves the nodes and edges of a document.
    pub fn new(document: &Document) -> Result<Graph, Failure> {
        let semantics = semantics_of(document)?;
        let mut by_id = HashMap::new();
        let mut nodes = Vec::with_capacity(document.graph.nodes.len());
        for (index, node) in document.graph.nodes.iter().enumerate() {
            by_id.insert(node.id.clone(), index);
            nodes.push(read_node(node, semantics)?);
        }
        let mut edges = Vec::with_capacity(document.graph.edges.len());
        for (index, edge) in document.graph.edges.iter().enumerate() {
            edges.push(read_edge(edge, index, &by_id, &mut nodes)?);
        }
        find_tools(&mut nodes, &by_id);
        add_effects_of_tools(&mut nodes);
        if semantics.reads_references() {
            find_named_steps(&mut nodes, &edges, &by_id);
        }
        let nodes = nodes.into_iter().map(Arc::new).collect();
        let graph = Graph { nodes, edges, semantics, by_id };
        graph.reject_edges_out_of_tools()?;
        graph.reject_cycle()?;
        Ok(graph)
    }

    /// Whether arguments hold references to the request and to other steps, as those of a workflow do.
    #[must_use]
    pub fn reads_references(&self) -> bool {
        self.semantics.reads_references()
    }

    /// The name under which the whole result of a step is kept, when steps have no ports.
    #[must_use]
    pub fn result_name(&self) -> Option<&'static str> {
        self.semantics.result_name()
    }

    #[must_use]
    pub fn index(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The edges into one port of a node; `None` stands for the whole response of `_output`.
    pub fn feeders<'g>(
        &'g self,
        node: &'g EngineNode,
        port: Option<&'g str>,
    ) -> impl Iterator<Item = usize> + 'g {
        node.incoming
            .iter()
            .copied()
            .filter(move |index| self.edges.get(*index).is_some_and(|edge| edge.to_port.as_deref() == port))
    }

    /// The edges out of a node with their indices.
    pub fn edges_of<'g>(&'g self, node: &'g EngineNode) -> impl Iterator<Item = (usize, &'g EngineEdge)> {
        node.outgoing.iter().filter_map(|index| self.edges.get(*index).map(|edge| (*index, edge)))
    }

    /// An edge as messages name it: its source, and its line when it is known.
    pub(crate) fn edge_name(&self, edge: usize) -> String {
        let Some(edge) = self.edges.get(edge) else { return String::new() };
        let source = self.nodes.get(edge.from).map_or("", |node| node.id.as_str());
        let port = edge.from_port.as_deref().unwrap_or_default();
        match edge.origin {
            Some(origin) => format!("`{source}.{port}` (line {})", origin.line),
            None => format!("`{source}.{port}`"),
        }
    }

    /// A node that runs only when another one calls it gives its result to the caller. An edge out of it would
    /// never carry anything.
    fn reject_edges_out_of_tools(&self) -> Result<(), Failure> {
        let source = |edge: &EngineEdge| self.nodes.get(edge.from).filter(|node| node.is_tool()).cloned();
        let Some((edge, node)) = self.edges.iter().find_map(|edge| Some((edge, source(edge)?))) else {
            return Ok(());
        };
        let message = format!(
            "`{}` runs only when another node calls it, and an edge out of it carries nothing",
            node.id
        );
        Err(bad_document(message).at(edge.origin.or(node.origin())))
    }

    /// A node waits for what leads to it and for the nodes that it runs itself. On a cycle none of them can start.
    fn reject_cycle(&self) -> Result<(), Failure> {
        let waits: Vec<Vec<usize>> = self
            .nodes
            .iter()
            .map(|node| {
                let sources = node.incoming.iter().filter_map(|edge| Some(self.edges.get(*edge)?.from));
                sources.chain(node.tools.iter().copied()).collect()
            })
            .collect();
        let Some(path) = wait_cycle(&waits) else { return Ok(()) };
        let path: Vec<&EngineNode> =
            path.iter().filter_map(|index| Some(&**self.nodes.get(*index)?)).collect();
        let names: Vec<&str> = path.iter().map(|node| node.id.as_str()).collect();
        let message =
            format!("the graph has a cycle: {}; each of them waits for the next one", names.join(" → "));
        Err(bad_document(message).at(path.iter().find_map(|node| node.origin())))
    }
}

/// Whether the arguments of a document's nodes hold references; see [`Graph::reads_references`].
pub fn reads_references(document: &Document) -> Result<bool, Failure> {
    Ok(semantics_of(document)?.reads_references())
}

/// Ports join nodes that have ports; transitions join nodes that have none. All nodes have them, or none has.
fn semantics_of(document: &Document) -> Result<&'static dyn Semantics, Failure> {
    let has_ports = |node: &stave_exec::DocumentNode| dataflow::has_ports(&node.extra);
    let nodes = &document.graph.nodes;
    if !nodes.iter().any(has_ports) {
        return Ok(&Transitions);
    }
    match nodes.iter().find(|node| !has_ports(node)) {
        None => Ok(&Ports),
        Some(node) => {
            let message = format!("node `{}` has no ports, and others have some", node.id);
            Err(bad_document(message).at(Origin::of(&node.extra)))
        }
    }
}

fn read_node(node: &stave_exec::DocumentNode, semantics: &dyn Semantics) -> Result<EngineNode, Failure> {
    let data =
        NodeData::read(&node.extra).map_err(|error| bad_document(format!("node `{}`: {error}", node.id)))?;
    let data = data.unwrap_or_else(|| NodeData {
        // A kind that the catalogue does not have may change anything.
        effects: step_kind(&node.kind).is_none_or(Descriptor::writes),
        origin: Origin::of(&node.extra),
        ..NodeData::default()
    });
    let is_typed = semantics.reads_references() && node.kind != SWITCH.name;
    Ok(EngineNode {
        id: node.id.clone(),
        kind: node.kind.clone(),
        with: if is_typed { typed_arguments(&node.with) } else { node.with.clone() },
        effects: data.effects || calls_tool_server(node),
        data,
        tools: Vec::new(),
        runners: Vec::new(),
        incoming: Vec::new(),
        outgoing: Vec::new(),
        named_steps: Vec::new(),
    })
}

/// Whether a model may call a tool on a server, which may change something there.
fn calls_tool_server(node: &stave_exec::DocumentNode) -> bool {
    let tools = node.with.get("tools").and_then(Value::as_array).unwrap_or_default();
    MCP_CALL.writes() && tools.iter().any(|tool| tool.get("mcp").is_some_and(|mcp| !mcp.is_null()))
}

fn read_edge(
    edge: &stave_exec::DocumentEdge,
    index: usize,
    by_id: &HashMap<String, usize>,
    nodes: &mut [EngineNode],
) -> Result<EngineEdge, Failure> {
    let data = EdgeData::read(&edge.extra)
        .map_err(|error| bad_document(format!("the edge from `{}` to `{}`: {error}", edge.from, edge.to)))?;
    let find =
        |id: &str| by_id.get(id).copied().ok_or_else(|| bad_document(format!("no node has the id {id:?}")));
    let (from, to) = (find(&edge.from)?, find(&edge.to)?);
    if let Some(node) = nodes.get_mut(from) {
        if data.case.is_some() && node.kind != SWITCH.name {
            let message = format!("an edge out of `{}` has a case, and it is not a switch", node.id);
            return Err(bad_document(message).at(node.origin()));
        }
        node.outgoing.push(index);
    }
    if let Some(node) = nodes.get_mut(to) {
        node.incoming.push(index);
    }
    Ok(EngineEdge {
        from,
        to,
        on: edge.on.clone(),
        from_port: data.from_port,
        to_port: data.to_port,
        case: data.case,
        condition: data.condition,
        otherwise: data.otherwise,
        transform: data.transform,
        cast: data.cast,
        origin: data.origin,
    })
}

/// Finds the nodes that others run themselves.
fn find_tools(nodes: &mut [EngineNode], by_id: &HashMap<String, usize>) {
    for index in 0..nodes.len() {
        let Some(node) = nodes.get(index) else { continue };
        let called = called_nodes(&node.kind, &node.with);
        let tools: Vec<usize> = called.filter_map(|id| by_id.get(id).copied()).collect();
        for tool in &tools {
            if let Some(tool) = nodes.get_mut(*tool) {
                tool.runners.push(index);
            }
        }
        if let Some(node) = nodes.get_mut(index) {
            node.tools = tools;
        }
    }
}

/// What a node runs itself has its effects on the node's behalf, at any depth.
fn add_effects_of_tools(nodes: &mut [EngineNode]) {
    loop {
        let has_effects = |index: &usize| nodes.get(*index).is_some_and(|node| node.effects);
        let found = nodes.iter().position(|node| !node.effects && node.tools.iter().any(has_effects));
        let Some(node) = found.and_then(|index| nodes.get_mut(index)) else { return };
        node.effects = true;
    }
}

/// Finds the steps that arguments name and that are done by then whatever the timing.
fn find_named_steps(nodes: &mut [EngineNode], edges: &[EngineEdge], by_id: &HashMap<String, usize>) {
    for index in 0..nodes.len() {
        let Some(node) = nodes.get(index) else { continue };
        let mut named = Vec::new();
        for value in node.with.values() {
            references::each_step(value, &mut |path| {
                let step = references::split_step(path, |id| by_id.contains_key(id));
                named.extend(step.and_then(|(id, _)| by_id.get(&id).copied()));
            });
        }
        if !named.is_empty() {
            let before = steps_before(index, nodes, edges);
            named.retain(|step| before.get(*step) == Some(&true));
        }
        if let Some(node) = nodes.get_mut(index) {
            node.named_steps = named;
        }
    }
}

fn steps_before(index: usize, nodes: &[EngineNode], edges: &[EngineEdge]) -> Vec<bool> {
    let mut before = vec![false; nodes.len()];
    let mut waiting = vec![index];
    while let Some(index) = waiting.pop() {
        let incoming = nodes.get(index).map(|node| node.incoming.as_slice()).unwrap_or_default();
        for edge in incoming.iter().filter_map(|edge| edges.get(*edge)) {
            if let Some(seen) = before.get_mut(edge.from).filter(|seen| !**seen) {
                *seen = true;
                waiting.push(edge.from);
            }
        }
    }
    before
}

/// The failure of a document that breaks a rule of its form.
pub fn bad_document(message: impl Into<String>) -> Failure {
    Failure::new(codes::BAD_DOCUMENT, FailureKind::Configuration, message)
}
