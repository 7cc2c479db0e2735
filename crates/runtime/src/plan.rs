//! An exec document made ready to run: its graph, with a step, compiled ports and limits bound to every node.
//!
//! Invariant: `nodes` and `conditions` have one entry for each node and edge of the graph, in its order.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use stave_canon::Value;
use stave_diag::codes::run as codes;
use stave_engine::Graph;
use stave_engine::graph::bad_document;
use stave_exec::contract::StepContract;
use stave_exec::dataflow::{Origin, StepCache, StepPort, StepState};
use stave_exec::spacing::{self, RetrySpacing};
use stave_exec::{Document, Retry};

use crate::conditions::Condition;
use crate::port::CheckedPort;
use crate::steps::{Step, StepKinds};
use crate::{Failure, policy::ModelCallPolicy};
use stave_engine::FailureKind;

pub use stave_engine::graph::{EngineEdge, INPUT, OUTPUT};

#[derive(Debug)]
pub struct Plan {
    pub document: Arc<Document>,
    pub graph: Arc<Graph>,
    pub nodes: Vec<PlannedNode>,
    /// By edge: its condition, when it can be decided without the sandbox.
    conditions: Vec<Option<Condition>>,
    pub policy: ModelCallPolicy,
}

/// A node of the graph with what its execution needs. It replaces the graph's node everywhere, so it dereferences
/// to it.
#[derive(Debug)]
pub struct PlannedNode {
    graph: Arc<stave_engine::EngineNode>,
    pub step: Arc<dyn Step>,
    pub timeout_ms: u32,
    pub retry: Retry,
    pub spacing: RetrySpacing,
    pub inputs: Vec<CheckedPort>,
    pub outputs: Vec<CheckedPort>,
    pub state: Option<StepState>,
    pub requires_context: Vec<String>,
    pub cache: Option<StepCache>,
    /// What the system line promises of it.
    pub contract: Option<StepContract>,
    /// Of everything that its result follows from beside what reaches it; empty unless results are cached.
    pub fingerprint: String,
    /// How many executions of it may run at once in this process.
    pub concurrency: Option<u32>,
    pub text_origins: HashMap<String, Origin>,
}

impl Deref for PlannedNode {
    type Target = stave_engine::EngineNode;

    fn deref(&self) -> &stave_engine::EngineNode {
        &self.graph
    }
}

impl Plan {
    /// Prepares a document. A step kind that this runtime does not have and a cycle are refused before
    /// anything runs.
    pub fn new(document: Arc<Document>, kinds: &StepKinds) -> Result<Plan, Failure> {
        let policy = ModelCallPolicy::read(&document.constants)?;
        let graph = Graph::new(&document)?;
        let written = document.graph.nodes.iter().zip(&graph.nodes);
        let nodes = written.map(|(written, node)| bind(written, node, kinds)).collect::<Result<_, _>>()?;
        let conditions = graph.edges.iter().map(|edge| edge.condition.as_deref().and_then(Condition::parse));
        let conditions = conditions.collect();
        Ok(Plan { document, graph: Arc::new(graph), nodes, conditions, policy })
    }

    #[must_use]
    pub fn index(&self, id: &str) -> Option<usize> {
        self.graph.index(id)
    }

    /// The condition of an edge, when it can be decided without the sandbox.
    pub(crate) fn condition(&self, edge: usize) -> Option<&Condition> {
        self.conditions.get(edge)?.as_ref()
    }
}

/// Binds what a node of the document needs to run.
fn bind(
    written: &stave_exec::DocumentNode,
    node: &Arc<stave_engine::EngineNode>,
    kinds: &StepKinds,
) -> Result<PlannedNode, Failure> {
    let data = &node.data;
    let contract = StepContract::read(&written.extra)
        .map_err(|error| bad_document(format!("node `{}`: {error}", node.id)))?;
    let spacing = spacing::read(&written.extra)
        .map_err(|error| bad_document(format!("node `{}`: {error}", node.id)))?;
    let step = kinds.get(&node.kind).ok_or_else(|| {
        let message = format!(
            "node `{}` is a `{}` step, which this runtime does not have{}",
            node.id,
            node.kind,
            StepKinds::advice(&node.kind)
        );
        Failure::new(codes::UNKNOWN_STEP_KIND, FailureKind::Refused, message).at(data.origin)
    })?;
    let compile =
        |ports: &[StepPort]| ports.iter().cloned().map(CheckedPort::new).collect::<Result<Vec<_>, _>>();
    Ok(PlannedNode {
        step,
        timeout_ms: written.timeout_ms,
        retry: written.retry,
        spacing,
        inputs: compile(&data.inputs)?,
        outputs: compile(&data.outputs)?,
        state: data.state.clone(),
        requires_context: data.requires_context.clone(),
        fingerprint: if data.cache.is_some() { fingerprint(written) } else { String::new() },
        cache: data.cache.clone(),
        contract,
        concurrency: data.concurrency,
        text_origins: data.text_origins.0.iter().cloned().collect(),
        graph: Arc::clone(node),
    })
}

/// The kind, the arguments and the ports of a node; not its place in the file, its id or its times.
fn fingerprint(node: &stave_exec::DocumentNode) -> String {
    let port = |key: &str| node.extra.get(key).cloned().unwrap_or_default();
    let parts =
        vec![node.kind.as_str().into(), Value::Object(node.with.clone()), port("inputs"), port("outputs")];
    stave_canon::sha256_hex(stave_canon::compact_utf8(&Value::Array(parts)))
}
