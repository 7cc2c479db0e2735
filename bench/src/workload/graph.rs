//! Graphs of steps that do nothing, as exec documents.

use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_exec::dataflow::{EdgeData, NodeData, PortType, StepPort};
use stave_exec::{
    Constants, Document, DocumentEdge, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, On, Retry,
};

/// The kind of the steps that do nothing.
pub(crate) const NOTHING: &str = "nothing";

/// A chain; with `condition` on every edge between two steps when there is one.
pub(crate) fn linear(count: usize, condition: Option<&str>) -> Arc<Document> {
    let nodes = (0..count).map(|index| step(&format!("s{index}"), &["n"]));
    let mut edges = vec![edge("_input", "s0", "n", None)];
    for index in 1..count {
        edges.push(edge(&format!("s{}", index - 1), &format!("s{index}"), "n", condition));
    }
    edges.push(edge(&format!("s{}", count.saturating_sub(1)), "_output", "n", None));
    document(nodes.collect(), edges)
}

/// Steps beside each other, and one that waits for all of them.
pub(crate) fn fan(width: usize) -> Arc<Document> {
    let names: Vec<String> = (0..width).map(|index| format!("p{index}")).collect();
    let mut nodes: Vec<DocumentNode> = (0..width).map(|index| step(&format!("s{index}"), &["n"])).collect();
    let mut ports: Vec<&str> = names.iter().map(String::as_str).collect();
    ports.insert(0, "n");
    nodes.push(step("join", &ports));
    let mut edges = vec![edge("_input", "join", "n", None)];
    for (index, port) in names.iter().enumerate() {
        edges.push(edge("_input", &format!("s{index}"), "n", None));
        edges.push(edge(&format!("s{index}"), "join", port, None));
    }
    edges.push(edge("join", "_output", "n", None));
    document(nodes, edges)
}

fn document(steps: Vec<DocumentNode>, edges: Vec<DocumentEdge>) -> Arc<Document> {
    let pseudo = |id: &str, kind: &str| DocumentNode {
        id: id.to_owned(),
        kind: kind.to_owned(),
        with: Object::new(),
        timeout_ms: 0,
        retry: Retry::default(),
        extra: NodeData::default().write(),
    };
    let mut nodes = vec![pseudo("_input", "flow.input")];
    nodes.extend(steps);
    nodes.push(pseudo("_output", "flow.output"));
    let field = Value::from_iter([("type", "number")]);
    let properties = Value::from_iter([("n", field)]);
    Arc::new(Document {
        version: stave_exec::VERSION.to_owned(),
        flow: FlowHeader { name: "steps".to_owned(), timeout_ms: 0 },
        constants: Constants { policy_ref: "default".to_owned(), policy: Object::new() },
        inputs_schema: [("properties".to_owned(), properties)].into_iter().collect(),
        graph: DocumentGraph { nodes, edges },
        metadata: DocumentMetadata {
            generated_at: "2026-01-01T00:00:00Z".to_owned(),
            source_file: "steps.yaml".to_owned(),
            extra: Object::new(),
        },
        extra: Object::new(),
    })
}

fn step(id: &str, inputs: &[&str]) -> DocumentNode {
    let port = |name: &str| StepPort {
        name: name.to_owned(),
        port_type: PortType::Number,
        schema: None,
        optional: false,
        provenance: None,
    };
    let inputs = inputs.iter().map(|name| port(name)).collect();
    let data = NodeData { inputs, outputs: vec![port("n")], ..NodeData::default() };
    DocumentNode {
        id: id.to_owned(),
        kind: NOTHING.to_owned(),
        with: Object::new(),
        timeout_ms: 0,
        retry: Retry::default(),
        extra: data.write(),
    }
}

fn edge(from: &str, to: &str, to_port: &str, condition: Option<&str>) -> DocumentEdge {
    let data = EdgeData {
        from_port: Some("n".to_owned()),
        to_port: Some(to_port.to_owned()),
        condition: condition.map(str::to_owned),
        ..EdgeData::default()
    };
    DocumentEdge { from: from.to_owned(), to: to.to_owned(), on: On::Success, extra: data.write() }
}
