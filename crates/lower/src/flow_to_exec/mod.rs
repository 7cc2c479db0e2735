//! Flow to exec: one exec node per flow node, `_input` and `_output` as nodes of their own, data edges
//! with their ports, conditions and casts, the project's policy baked in.
//!
//! Invariant: the result depends on the flow and the settings only, and a runtime that has nothing but
//! the document can run it. Whatever asks about the whole graph is asked once, so that the work grows with the flow and
//! not with its square.

mod budget;
mod deployment;
mod edge;
mod node;
mod prompt;
mod provenance;
mod sensitivity;

pub(crate) use deployment::source_of;
pub(crate) use node::bounded;
pub(crate) use prompt::model_value;

use std::collections::{HashMap, HashSet};

use stave_canon::{Object, Value};
use stave_diag::{Sources, Span};
use stave_exec::dataflow::{self, NodeData};
use stave_exec::{
    Constants, Document, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, Retry, VERSION,
};
use stave_flow::check::cached_contexts;
use stave_flow::graph::{self, Connected, EdgeSource, EdgeTarget};
use stave_flow::model::{Flow, INPUT, OUTPUT};
use stave_prompt::compile::Templates;

use provenance::InputProvenance;

/// What the project and the invocation add to a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecSettings {
    /// The name of the policy set.
    pub policy_ref: String,
    /// The policies and limits to bake.
    pub policy: Object,
    /// The model of prompts that name none.
    pub default_model: Option<DefaultModel>,
    /// The project's templates and output schemas; documents carry those that their prompts use.
    pub templates: Templates,
    /// RFC 3339, UTC.
    pub generated_at: String,
    /// The flow file as the project names it.
    pub source_file: String,
}

/// The project's model for prompts that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultModel {
    pub provider: String,
    pub name: String,
    pub endpoint: Option<String>,
}

/// Lowers a flow that has no errors. What an error left out of the model is left out here too.
#[must_use]
pub fn flow_to_exec(flow: &Flow, sources: &Sources, settings: &ExecSettings) -> Document {
    let edges = graph::connected(flow);
    let lowering = Lowering {
        sources,
        settings,
        provenance: InputProvenance::new(flow, &edges),
        only_called: graph::run_only_when_called(flow, &edges),
        cached: cached_contexts(flow),
    };
    let mut nodes = vec![pseudo_node(INPUT, "flow.input")];
    nodes.extend(flow.nodes.values().map(|node| lowering.node(node)));
    nodes.push(pseudo_node(OUTPUT, "flow.output"));
    let inputs_schema = inputs_schema(flow, &edges);
    let edges = edges.iter().map(|edge| lowering.edge(edge)).collect();
    let name = flow.metadata.name.as_ref().map_or("flow", stave_flow::model::Text::as_str);
    Document {
        version: VERSION.to_owned(),
        flow: FlowHeader {
            name: stave_exec::manifest::file_name(name),
            timeout_ms: budget::timeout_ms(flow),
        },
        constants: Constants {
            policy_ref: settings.policy_ref.clone(),
            policy: sensitivity::with_labels(budget::with_budget(&settings.policy, flow), flow),
        },
        inputs_schema,
        graph: DocumentGraph { nodes, edges },
        metadata: DocumentMetadata {
            generated_at: settings.generated_at.clone(),
            source_file: settings.source_file.clone(),
            extra: metadata(flow),
        },
        extra: Object::new(),
    }
}

struct Lowering<'l> {
    sources: &'l Sources,
    settings: &'l ExecSettings,
    provenance: InputProvenance<'l>,
    /// The nodes that run only when another one calls them.
    only_called: HashSet<&'l str>,
    /// The context fields that each cached node depends on.
    cached: HashMap<&'l str, Option<Vec<String>>>,
}

impl Lowering<'_> {
    fn origin(&self, span: Span) -> Option<dataflow::Origin> {
        let (start, _) = self.sources.place(span)?;
        Some(dataflow::Origin { line: start.line, column: start.column })
    }
}

/// What else is worth knowing about the flow, kept beside its source.
fn metadata(flow: &Flow) -> Object {
    let hints = flow.deployment.as_ref().and_then(deployment::hints);
    hints.map(|hints| ("deployment".to_owned(), hints)).into_iter().collect()
}

pub(crate) fn pseudo_node(id: &str, kind: &str) -> DocumentNode {
    DocumentNode {
        id: id.to_owned(),
        kind: kind.to_owned(),
        with: Object::new(),
        timeout_ms: 0,
        retry: Retry::default(),
        extra: NodeData::default().write(),
    }
}

/// The request's fields as a JSON Schema: the type of each where all its targets agree.
fn inputs_schema(flow: &Flow, edges: &[Connected<'_>]) -> Object {
    let mut targets: HashMap<&str, Vec<&str>> = HashMap::new();
    for edge in edges.iter().filter(|edge| edge.edge.transform.is_absent()) {
        let (EdgeSource::Request(field), EdgeTarget::Input(_, port)) = (edge.origin, edge.destination) else {
            continue;
        };
        if let Some(port_type) = port.port_type {
            targets.entry(field).or_default().push(port_type.json_type());
        }
    }
    let mut properties = Object::new();
    for field in flow.context.fields() {
        let types = targets.get(field.as_str()).map(Vec::as_slice).unwrap_or_default();
        let agreed = types.split_first().filter(|(first, rest)| rest.iter().all(|other| other == *first));
        let mut property = Object::new();
        if let Some((only, _)) = agreed {
            property.insert("type".into(), (*only).into());
        }
        properties.insert(field.as_str().to_owned(), property.into());
    }
    let required: Vec<&str> = flow.context.requires.iter().map(stave_flow::model::Text::as_str).collect();
    let mut schema = Object::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Value::Object(properties));
    schema.insert("required".into(), required.into());
    schema
}
