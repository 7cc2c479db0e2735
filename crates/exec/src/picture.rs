//! A document as a diagram.

use stave_canon::Value;
use stave_operations::{
    DSL_EMIT, Descriptor, FINISH, FLOW_INPUT, FLOW_OUTPUT, POLICY_APPLY, Receiver, SWITCH, step_kind,
};
use stave_picture::{Arrow, Box, Diagram, Style, Tone};

use crate::{Document, DocumentEdge, DocumentNode, On};

/// The graph of a document: a box for each node, an arrow for each edge.
#[must_use]
pub fn diagram(document: &Document) -> Diagram {
    Diagram {
        title: document.flow.name.clone(),
        boxes: document.graph.nodes.iter().map(node_box).collect(),
        arrows: document.graph.edges.iter().map(arrow).collect(),
    }
}

fn node_box(node: &DocumentNode) -> Box {
    let kind = node.kind.as_str();
    let is_one_of = |kinds: &[&Descriptor]| kinds.iter().any(|known| known.name == kind);
    let receiver = step_kind(kind).map_or(Receiver::Nobody, |kind| kind.receiver);
    let tone = match receiver {
        _ if is_one_of(&[&FLOW_INPUT, &FLOW_OUTPUT, &DSL_EMIT, &FINISH]) => Tone::Border,
        _ if is_one_of(&[&SWITCH, &POLICY_APPLY]) => Tone::Guard,
        Receiver::Model => Tone::Model,
        Receiver::Host { .. } | Receiver::Tool { .. } => Tone::Outside,
        Receiver::FeatureStore { .. } => Tone::Memory,
        Receiver::Nobody if node.extra.contains_key("state") => Tone::Memory,
        Receiver::Nobody => Tone::Step,
    };
    Box { id: node.id.clone(), title: node.id.clone(), subtitle: node.kind.clone(), tone }
}

fn arrow(edge: &DocumentEdge) -> Arrow {
    let text = |key: &str| edge.extra.get(key).and_then(Value::as_str);
    let is_else = edge.extra.get("else") == Some(&Value::Bool(true));
    let condition = text("condition").or(is_else.then_some("else"));
    let style = match &edge.on {
        On::Failure => Style::Failure,
        On::Later(_) => Style::Conditional,
        On::Success if text("case").is_some() || condition.is_some() => Style::Conditional,
        On::Success => Style::Plain,
    };
    let later = matches!(edge.on, On::Later(_)).then(|| edge.on.word());
    let label = later.or(text("case")).or(condition).or_else(|| text("from_port")).unwrap_or_default();
    Arrow { from: edge.from.clone(), to: edge.to.clone(), label: label.to_owned(), style }
}
