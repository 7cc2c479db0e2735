//! The outline of a flow.

use stave_diag::Span;

use super::words::type_word;
use crate::model::{Flow, Node, Port};

/// An entry of the outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSymbol {
    pub name: String,
    pub detail: String,
    pub kind: SymbolKind,
    pub span: Span,
    /// The name's own place, inside `span`.
    pub name_span: Span,
    pub children: Vec<DocumentSymbol>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    Node,
    Input,
    Output,
    Error,
    Context,
    Edge,
}

/// The context fields, the nodes with their ports, and the edges.
#[must_use]
pub fn symbols(flow: &Flow) -> Vec<DocumentSymbol> {
    let fields = flow.context.fields().map(|field| DocumentSymbol {
        name: field.as_str().to_owned(),
        detail: "context field".to_owned(),
        kind: SymbolKind::Context,
        span: field.span,
        name_span: field.span,
        children: Vec::new(),
    });
    let edges = flow.edges.iter().filter_map(|edge| {
        let (from, to) = (edge.from.as_ref()?, edge.to.as_ref()?);
        let name_span = if covers(edge.span, from.span) { from.span } else { edge.span };
        Some(DocumentSymbol {
            name: format!("{from} -> {to}"),
            detail: match (edge.condition.as_ref(), edge.otherwise) {
                (Some(text), _) => format!("when {}", text.as_str()),
                (None, Some(_)) => "else".to_owned(),
                (None, None) => String::new(),
            },
            kind: SymbolKind::Edge,
            span: edge.span,
            name_span,
            children: Vec::new(),
        })
    });
    fields.chain(flow.nodes.values().map(node)).chain(edges).collect()
}

fn covers(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn node(node: &Node) -> DocumentSymbol {
    let port = |port: &Port, kind: SymbolKind| DocumentSymbol {
        name: port.name.as_str().to_owned(),
        detail: type_word(port).to_owned(),
        kind,
        span: port.span,
        name_span: if covers(port.span, port.name.span) { port.name.span } else { port.span },
        children: Vec::new(),
    };
    let children = node.inputs.iter().map(|input| port(input, SymbolKind::Input));
    let children = children.chain(node.outputs.iter().map(|output| port(output, SymbolKind::Output)));
    let children = children.chain(node.error.iter().map(|error| port(error, SymbolKind::Error)));
    let detail = match (node.prompt.as_ref(), node.op()) {
        (Some(_), _) => "prompt".to_owned(),
        (None, Some(op)) => op.to_owned(),
        (None, None) => "code".to_owned(),
    };
    let span = if node.id.span.start <= node.span.start { node.id.span.to(node.span) } else { node.id.span };
    DocumentSymbol {
        name: node.id.value.clone(),
        detail,
        kind: SymbolKind::Node,
        span,
        name_span: node.id.span,
        children: children.collect(),
    }
}
