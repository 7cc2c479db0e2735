//! A document as a diagram.

use stave_canon::Value;
use stave_picture::{Arrow, Box, Diagram, Style, Tone};

use crate::{Document, Edge, Node, On};

/// The graph of a document: a box for each node, an arrow for each edge.
#[must_use]
pub fn diagram(document: &Document) -> Diagram {
    Diagram {
        title: document.flow.name.clone(),
        boxes: document.graph.nodes.iter().map(node_box).collect(),
        arrows: document.graph.edges.iter().map(arrow).collect(),
    }
}

fn node_box(node: &Node) -> Box {
    let tone = match node.kind.as_str() {
        "flow.input" | "flow.output" | "dsl.emit" | "finish" => Tone::Border,
        "llm.chat" => Tone::Model,
        "switch" => Tone::Guard,
        kind if kind.starts_with("policy.") => Tone::Guard,
        kind if kind.starts_with("http.") || kind.starts_with("mcp.") || kind.starts_with("opcua.") => {
            Tone::Outside
        }
        kind if kind.starts_with("hopsworks.") => Tone::Memory,
        _ if node.extra.contains_key("state") => Tone::Memory,
        _ => Tone::Step,
    };
    Box { id: node.id.clone(), title: node.id.clone(), subtitle: node.kind.clone(), tone }
}

fn arrow(edge: &Edge) -> Arrow {
    let text = |key: &str| edge.extra.get(key).and_then(Value::as_str);
    let style = match edge.on {
        On::Failure => Style::Failure,
        On::Success if text("case").is_some() || text("condition").is_some() => Style::Conditional,
        On::Success => Style::Plain,
    };
    let label = text("case").or_else(|| text("condition")).or_else(|| text("from_port")).unwrap_or_default();
    Arrow { from: edge.from.clone(), to: edge.to.clone(), label: label.to_owned(), style }
}
