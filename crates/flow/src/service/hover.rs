//! Explains what is under the cursor.

use stave_canon::Value;
use stave_diag::Span;
use stave_operations::{Descriptor, operation};

use super::cursor::{field_at, innermost, key_at};
use super::words::type_word;
use super::{Analysis, Symbol, properties};
use crate::graph::{self, EdgeSource, EdgeTarget};
use crate::model::{BUILT_IN_CONTEXT, Flow, Node, Port, Text};
use crate::yaml::Tree;

/// An explanation in Markdown, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    pub markdown: String,
    pub span: Span,
}

/// Explains what is at an offset.
#[must_use]
pub fn hover(analysis: &Analysis, offset: usize) -> Option<Hover> {
    let flow = analysis.flow.as_ref()?;
    if let Some(occurrence) = analysis.occurrence_at(offset)
        && let Some(markdown) = symbol(flow, &occurrence.symbol)
    {
        return Some(Hover { markdown, span: occurrence.span });
    }
    let tree = analysis.tree.as_ref()?;
    let (path, value) = innermost(tree, offset);
    if path.last().is_some_and(|last| last == "op")
        && let Some(operation) = value.text().and_then(|text| operation(text.as_str()))
    {
        return Some(Hover { markdown: operation_page(operation), span: value.span });
    }
    let (path, span) = key_at(tree, offset)?;
    let field = field_at(&path)?;
    let needed = if field.required { "required" } else { "optional" };
    Some(Hover { markdown: format!("`{}` ({needed})\n\n{}", field.name, field.summary), span })
}

fn symbol(flow: &Flow, symbol: &Symbol) -> Option<String> {
    match symbol {
        Symbol::Node(id) => Some(node_page(flow.nodes.get(id)?)),
        Symbol::Input { node, port } => {
            let (node, port) = (flow.nodes.get(node)?, flow.nodes.get(node)?.input(port)?);
            let mut page = port_page("input", node, port);
            for connected in graph::connected(flow) {
                if let EdgeTarget::Input(target, into) = connected.destination
                    && target.id.value == node.id.value
                    && into.name.as_str() == port.name.as_str()
                {
                    page.push_str(&format!("\n\ncomes from {}", origin(&connected.origin)));
                    if let Some(condition) = connected.edge.condition.as_ref() {
                        page.push_str(&format!(" when `{}`", condition.as_str()));
                    }
                    if let Some(transform) = connected.edge.transform.as_ref() {
                        page.push_str(&format!(" as `{}`", transform.as_str()));
                    }
                }
            }
            Some(page)
        }
        Symbol::Output { node, port } => {
            let node = flow.nodes.get(node)?;
            let (role, port) = match node.output(port) {
                Some(port) => ("output", port),
                None => ("error port", node.error_port(port)?),
            };
            let mut page = port_page(role, node, port);
            for connected in graph::connected(flow) {
                let leaves = connected.origin.node().is_some_and(|from| from.id.value == node.id.value)
                    && connected.origin.port().is_some_and(|from| from.name.as_str() == port.name.as_str());
                if leaves && let Some(to) = &connected.edge.to {
                    page.push_str(&format!("\n\ngoes to `{to}`"));
                }
            }
            Some(page)
        }
        Symbol::Context(name) => {
            let declared = |fields: &[Text]| fields.iter().any(|field| field.as_str() == name);
            let kind = if declared(&flow.context.requires) {
                "required field of the request"
            } else if declared(&flow.context.optional) {
                "optional field of the request"
            } else if BUILT_IN_CONTEXT.contains(&name.as_str()) {
                "context field that the engine always provides"
            } else {
                return None;
            };
            Some(format!("`{name}`: {kind}"))
        }
        Symbol::Property { node, port, leaves, path } => {
            let owner = properties::owner(flow, node, port, *leaves)?;
            let schema = owner.at(path)?;
            let kind = schema.get("type").map_or_else(|| "any".to_owned(), type_text);
            let role = if *leaves { "output" } else { "input" };
            let mut page = format!(
                "property `{}`: `{kind}`\n\nof the {role} `{node}.{port}`, whose schema describes it",
                path.join(".")
            );
            if let Some(description) = schema.get("description").and_then(Tree::text) {
                page.push_str(&format!("\n\n{}", description.as_str()));
            }
            let json = stave_canon::pretty_insertion_utf8(&schema.to_value());
            page.push_str(&format!("\n\n```json\n{}\n```", json.trim_end()));
            Some(page)
        }
    }
}

/// The words of a schema's `type`.
fn type_text(tree: &Tree) -> String {
    match tree.items() {
        Some(items) => items.iter().filter_map(Tree::text).map(Text::as_str).collect::<Vec<_>>().join(" | "),
        None => tree.text().map_or("any", Text::as_str).to_owned(),
    }
}

fn origin(origin: &EdgeSource<'_>) -> String {
    match origin {
        EdgeSource::Request(field) => format!("the request's `{field}`"),
        EdgeSource::Output(node, port) => {
            format!("`{}.{}` ({})", node.id.value, port.name.as_str(), type_word(port))
        }
        EdgeSource::Error(node, port) => {
            format!("the error port `{}.{}`", node.id.value, port.name.as_str())
        }
    }
}

fn node_page(node: &Node) -> String {
    let ports = |ports: &[Port]| {
        let ports: Vec<String> =
            ports.iter().map(|port| format!("{}: {}", port.name.as_str(), type_word(port))).collect();
        if ports.is_empty() { "nothing".to_owned() } else { ports.join(", ") }
    };
    let work = match (node.prompt.as_ref(), node.op()) {
        (Some(_), _) => "asks a model".to_owned(),
        (None, Some(op)) => match operation(op) {
            Some(operation) => format!("`{op}`: {}", operation.summary),
            None => format!("`{op}`"),
        },
        (None, None) => "runs code".to_owned(),
    };
    format!(
        "node `{}`: {work}\n\n({}) -> ({})\n\ntimeout {} ms, {} retries",
        node.id.value,
        ports(&node.inputs),
        ports(&node.outputs),
        node.timeout_ms(),
        node.retries()
    )
}

fn port_page(role: &str, node: &Node, port: &Port) -> String {
    let optional = if port.is_optional() { ", optional" } else { "" };
    let mut page =
        format!("{role} `{}` of `{}`: `{}`{optional}", port.name.as_str(), node.id.value, type_word(port));
    if let Some(description) = &port.description {
        page.push_str(&format!("\n\n{}", description.as_str()));
    }
    if let Some(schema) = &port.schema {
        let schema: Value = schema.to_value();
        page.push_str(&format!(
            "\n\n```json\n{}\n```",
            stave_canon::pretty_insertion_utf8(&schema).trim_end()
        ));
    }
    page
}

fn operation_page(operation: &Descriptor) -> String {
    let mut page = format!("`{}`: {}\n", operation.name, operation.summary);
    for argument in operation.arguments {
        let needed = if argument.required { " (required)" } else { "" };
        page.push_str(&format!("\n- `{}`{needed}: {}", argument.name, argument.summary));
    }
    for group in operation.one_of {
        page.push_str(&format!("\n\none of {} must be given", group.join(", ")));
    }
    if operation.writes() {
        page.push_str(
            "\n\nIt changes something outside the flow, so it is neither cached nor repeated by itself.",
        );
    }
    page
}
