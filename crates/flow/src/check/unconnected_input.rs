//! Every required input is fed by an edge, or by the calls of a tool.

use std::collections::HashSet;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, did_you_mean};

use super::each;
use super::subject::Subject;
use crate::graph;
use crate::model::{Endpoint, Flow, Node, Text, ToolDeclaration};
use crate::yaml::Tree;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let fed: HashSet<(&str, &str)> = subject
        .edges
        .iter()
        .filter_map(|connected| {
            let (node, port) = (connected.destination.node()?, connected.destination.port()?);
            Some((node.id.as_str(), port.name.as_str()))
        })
        .collect();
    // An edge with a broken end was meant to feed the port that it names or nearly names.
    let meant: HashSet<(&str, &str)> =
        subject.flow.edges.iter().filter_map(|edge| target(subject.flow, edge.to.as_ref()?)).collect();
    // A tool that nearly names a node was meant for it, and is reported at its place.
    let called = subject.nodes().flat_map(Node::called).map(Text::as_str);
    let astray = called.filter(|target| !subject.flow.nodes.contains_key(*target));
    let ids = || subject.flow.nodes.keys().map(String::as_str);
    let nearly: HashSet<&str> = astray.filter_map(|target| did_you_mean(target, ids())).collect();
    let mut unfed = Vec::new();
    for node in subject.nodes() {
        // Who calls a node is not known when a call cannot be read. One that edges enter does not wait for calls.
        if subject.has_unreadable_calls() && !is_entered(subject.flow, node) {
            continue;
        }
        let callers = subject.callers(&node.id);
        for port in node.inputs.iter().filter(|port| port.is_required()) {
            let place = (node.id.as_str(), port.name.as_str());
            let called =
                callers.iter().any(|(_, tool)| gives(tool, port.name.as_str()) || is_misnamed(tool, node));
            let runs = subject.runners(&node.id).iter().filter_map(|runner| runner.each());
            let takes_item = runs.into_iter().any(|each| {
                each::item_port(subject, node, each).is_none_or(|item| item == port.name.as_str())
            });
            if fed.contains(&place)
                || meant.contains(&place)
                || called
                || takes_item
                || nearly.contains(place.0)
            {
                continue;
            }
            let name = port.name.as_str();
            let message = format!("nothing feeds the required input `{name}` of node `{}`", node.id.value);
            let edge = format!("{{from: …, to: {}.{name}}}", node.id.value);
            let help = if subject.flow.context.declares(name) {
                format!(
                    "add the edge `{{from: _input.{name}, to: {}.{name}}}`; context fields are not filled in by name",
                    node.id.value
                )
            } else {
                format!("add an edge `{edge}`, or mark the port `optional: true`")
            };
            unfed.push(Diagnostic::new(codes::UNCONNECTED_INPUT, port.span, message).help(help));
        }
    }
    // An edge whose destination cannot be read was meant for one of the inputs that nothing feeds.
    if unfed.len() > subject.unreadable_destinations() {
        diagnostics.append(&mut unfed);
    }
}

fn is_entered(flow: &Flow, node: &Node) -> bool {
    flow.edges.iter().filter_map(|edge| edge.to.as_ref()).any(|end| end.node.value == node.id.value)
}

fn target<'flow>(flow: &'flow Flow, end: &'flow Endpoint) -> Option<(&'flow str, &'flow str)> {
    if end.port.is_none() {
        let destination = graph::destination(flow, end).ok()?;
        return Some((destination.node()?.id.as_str(), destination.port()?.name.as_str()));
    }
    let name = end.node.as_str();
    let near = || did_you_mean(name, flow.nodes.keys().map(String::as_str));
    let node = flow.nodes.get(name).or_else(|| flow.nodes.get(near()?))?;
    let port = end.port.as_ref()?.as_str();
    let inputs = || node.inputs.iter().map(|port| port.name.as_str());
    let port = if node.input(port).is_some() { port } else { did_you_mean(port, inputs())? };
    Some((node.id.as_str(), port))
}

/// Whether a tool has a parameter that the node does not take, which is reported at its place.
fn is_misnamed(tool: &ToolDeclaration, node: &Node) -> bool {
    let properties = tool.parameters.as_ref().and_then(|parameters| parameters.get("properties"));
    let entries = properties.and_then(Tree::entries).unwrap_or_default();
    entries.iter().any(|entry| node.input(&entry.key.value).is_none())
}

/// Whether calls of a tool carry an argument of this name. A schema that lists no properties may.
fn gives(tool: &ToolDeclaration, name: &str) -> bool {
    let properties = tool.parameters.as_ref().and_then(|parameters| parameters.get("properties"));
    // Properties that are no mapping cannot be read, and may have named it.
    !tool.mcp.is_read()
        && properties
            .is_none_or(|properties| properties.entries().is_none() || properties.get(name).is_some())
}
