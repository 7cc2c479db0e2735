//! Edges connect ports that exist.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::{Subject, listed, suggest};
use crate::graph::{self, Unresolved};
use crate::model::{Endpoint, INPUT, Node, OUTPUT, Port, Text};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let flow = subject.flow;
    for edge in &flow.edges {
        if let Some(end) = &edge.from
            && let Err(fault) = graph::origin(flow, end)
        {
            diagnostics.extend(report(subject, end, &fault, Side::From));
        }
        if let Some(end) = &edge.to
            && let Err(fault) = graph::destination(flow, end)
        {
            diagnostics.extend(report(subject, end, &fault, Side::To));
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    From,
    To,
}

impl Side {
    fn ports(self, node: &Node) -> Vec<&str> {
        let ports = match self {
            Side::From => node.outputs.iter().chain(&node.error).collect::<Vec<&Port>>(),
            Side::To => node.inputs.iter().collect(),
        };
        ports.into_iter().map(|port| port.name.as_str()).collect()
    }

    fn direction(self) -> &'static str {
        match self {
            Side::From => "output",
            Side::To => "input",
        }
    }
}

fn report(subject: &Subject<'_>, end: &Endpoint, fault: &Unresolved<'_>, side: Side) -> Option<Diagnostic> {
    let span = graph::fault_span(end, fault);
    let node_name = &end.node.value;
    let port_name = end.port.as_ref().map(|port| port.value.as_str()).unwrap_or_default();
    Some(match fault {
        Unresolved::Unreadable => return None,
        Unresolved::UnknownNode => {
            let verb = if side == Side::From { "begins" } else { "ends" };
            let message = format!("the edge {verb} at `{end}`, and there is no node `{node_name}`");
            let nodes: Vec<&str> = subject.nodes().map(|node| node.id.as_str()).collect();
            let diagnostic = Diagnostic::new(codes::DANGLING_EDGE, span, message);
            suggest(diagnostic, node_name, span, &nodes, |listed| {
                format!("add a node `{node_name}`, or use one of {listed}")
            })
        }
        Unresolved::UnknownPseudoNode => {
            let message =
                format!("there is no `{node_name}`; only `{INPUT}` and `{OUTPUT}` stand for the outside");
            let diagnostic = Diagnostic::new(codes::DANGLING_EDGE, span, message);
            let meant = if side == Side::From { INPUT } else { OUTPUT };
            suggest(diagnostic, node_name, span, &[meant], |listed| format!("use {listed}, or a node's id"))
        }
        Unresolved::OutputAsOrigin => {
            let message = format!("`{OUTPUT}` is the response, and nothing can be read from it");
            Diagnostic::new(codes::MISPLACED_PSEUDO_NODE, span, message)
                .help("take the value from the node that makes it")
        }
        Unresolved::InputAsDestination => {
            let message = format!("`{INPUT}` is the request, and nothing can be written to it");
            Diagnostic::new(codes::MISPLACED_PSEUDO_NODE, span, message)
                .help(format!("write the value to a node's input or to `{OUTPUT}`"))
        }
        Unresolved::UndeclaredField => {
            let message = format!("the request has no field `{port_name}`");
            let fields: Vec<&str> = subject.flow.context.fields().map(Text::as_str).collect();
            let diagnostic = Diagnostic::new(codes::UNDECLARED_CONTEXT, span, message);
            suggest(diagnostic, port_name, span, &fields, |listed| {
                format!("add `{port_name}` to `context`, which declares {listed}")
            })
        }
        Unresolved::UnknownPort(node) => {
            let message = format!("node `{node_name}` has no {} `{port_name}`", side.direction());
            let ports = side.ports(node);
            let mut diagnostic = Diagnostic::new(codes::UNKNOWN_PORT, span, message);
            diagnostic = diagnostic.label(node.id.span, "the node");
            suggest(diagnostic, port_name, span, &ports, |listed| match ports.as_slice() {
                [] => format!("add the {} to the node, which has none", side.direction()),
                _ => format!("use {listed}"),
            })
        }
        Unresolved::NoDefault(Some(node)) => {
            let message = format!("node `{node_name}` has no {} that the edge could mean", side.direction());
            let diagnostic =
                Diagnostic::new(codes::AMBIGUOUS_PORT, span, message).label(node.id.span, "the node");
            match (node.error.as_ref(), side) {
                (Some(error), Side::From) => {
                    let name = error.name.as_str();
                    diagnostic.help(format!("write `{node_name}.{name}` if the error port is meant"))
                }
                _ => diagnostic.help(format!("add an {} to the node", side.direction())),
            }
        }
        Unresolved::NoDefault(None) => Diagnostic::new(
            codes::AMBIGUOUS_PORT,
            span,
            "the context declares no field that the edge could mean",
        )
        .help("add a field to `context.requires`"),
        Unresolved::AmbiguousDefault(names) => {
            let message = format!("`{node_name}` alone could mean any of {}", listed(names.iter().copied()));
            let first = names.first().copied().unwrap_or_default();
            Diagnostic::new(codes::AMBIGUOUS_PORT, span, message)
                .help(format!("name the port, such as `{node_name}.{first}`"))
        }
    })
}
