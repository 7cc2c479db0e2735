//! Flow to exec: one exec node per flow node, `_input` and `_output` as nodes of their own, data edges
//! with their ports, conditions and casts, the project's policy baked in.
//!
//! Invariant: the result depends on the flow and the settings only, and a runtime that has nothing but
//! the document can run it.

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

use stave_canon::{Object, Value};
use stave_diag::{Sources, Span};
use stave_exec::dataflow::{self, NodeData};
use stave_exec::{
    Constants, Document, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, Retry, VERSION,
};
use stave_flow::graph::{self, EdgeSource, EdgeTarget};
use stave_flow::model::{Flow, INPUT, OUTPUT};
use stave_prompt::compile::Templates;

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
    let lowering = Lowering { flow, sources, settings };
    let mut nodes = vec![pseudo_node(INPUT, "flow.input")];
    nodes.extend(flow.nodes.values().map(|node| lowering.node(node)));
    nodes.push(pseudo_node(OUTPUT, "flow.output"));
    let edges = graph::connected(flow).iter().map(|edge| lowering.edge(edge)).collect();
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
        inputs_schema: inputs_schema(flow),
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
    flow: &'l Flow,
    sources: &'l Sources,
    settings: &'l ExecSettings,
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
fn inputs_schema(flow: &Flow) -> Object {
    let edges = graph::connected(flow);
    let mut properties = Object::new();
    for field in flow.context.fields() {
        let mut types: Vec<&str> = edges
            .iter()
            .filter(|edge| matches!(edge.origin, EdgeSource::Request(name) if name == field.as_str()))
            .filter(|edge| edge.edge.transform.is_absent())
            .filter_map(|edge| match edge.destination {
                EdgeTarget::Input(_, port) => port.port_type.map(|port_type| port_type.json_type()),
                _ => None,
            })
            .collect();
        types.dedup();
        let mut property = Object::new();
        if let [only] = types.as_slice() {
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
