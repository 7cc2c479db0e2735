//! Conditions and transforms of edges are expressions over the value that travels.

use std::collections::HashMap;

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_script::{ExpressionCheck, ExpressionType, check_typed, check_typed_condition};

use super::subject::{EdgeExpressions, Subject, suggest};
use crate::graph::{self, EdgeSource};
use crate::model::{Edge, Flow, Text};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for edge in &subject.flow.edges {
        let Some(found) = subject.expressions.get(&edge.index) else { continue };
        let origin = edge.from.as_ref().and_then(|end| graph::origin(subject.flow, end).ok());
        if let (Some(found), Some(text)) = (&found.transform, edge.transform.as_ref()) {
            diagnostics.extend(mismatch(subject, edge, text, found.result));
        }
        for found in found.each() {
            paths(subject, origin, found, diagnostics);
            diagnostics.extend(found.diagnostics.iter().cloned());
        }
    }
}

/// What is known about the expressions of a flow's edges, by the index of the edge.
pub(super) fn expressions(flow: &Flow) -> HashMap<usize, EdgeExpressions> {
    let edges = flow.edges.iter().filter(|edge| edge.condition.is_read() || edge.transform.is_read());
    edges.map(|edge| (edge.index, of_edge(flow, edge))).collect()
}

fn of_edge(flow: &Flow, edge: &Edge) -> EdgeExpressions {
    let origin = edge.from.as_ref().and_then(|end| graph::origin(flow, end).ok());
    let mut scope = vec!["value", "context"];
    match origin {
        Some(EdgeSource::Request(field)) => scope.push(field),
        Some(EdgeSource::Output(_, port) | EdgeSource::Error(_, port)) => {
            scope.extend(["outputs", port.name.as_str()]);
        }
        // The port that the edge names, though it is not there.
        None => {
            scope.push("outputs");
            scope.extend(edge.from.iter().filter_map(|end| end.port.as_ref()).map(|port| port.as_str()));
        }
    }
    let known = known(origin);
    EdgeExpressions {
        condition: edge.condition.as_ref().map(|text| check_typed_condition(&text.embedded, &scope, &known)),
        transform: edge.transform.as_ref().map(|text| check_typed(&text.embedded, &scope, &known)),
    }
}

/// The types of the names that carry the value.
fn known(origin: Option<EdgeSource<'_>>) -> Vec<(&str, ExpressionType)> {
    let Some(port) = origin.and_then(|origin| origin.port()) else { return Vec::new() };
    let Some(port_type) = &port.port_type else { return Vec::new() };
    let value = match port_type.json_type() {
        "string" => ExpressionType::String,
        "number" => ExpressionType::Number,
        "boolean" => ExpressionType::Boolean,
        "array" => ExpressionType::Array,
        "object" => ExpressionType::Object,
        _ => return Vec::new(),
    };
    vec![("value", value), (port.name.as_str(), value)]
}

/// A transform whose result is plainly of a type that the edge's end does not take.
fn mismatch(subject: &Subject<'_>, edge: &Edge, text: &Text, result: ExpressionType) -> Option<Diagnostic> {
    let destination = graph::destination(subject.flow, edge.to.as_ref()?).ok()?;
    let port_type = destination.port()?.port_type.as_ref()?;
    let wanted = port_type.json_type();
    let given = match result {
        ExpressionType::Unknown | ExpressionType::Null => return None,
        result => result.word(),
    };
    // A number or a boolean is printed on its way into a text.
    if given == wanted || (wanted == "string" && matches!(given, "number" | "boolean")) {
        return None;
    }
    let message = format!(
        "the transform gives {}, and `{}` takes type `{wanted}`",
        result.described(),
        edge.to.as_ref()?
    );
    Some(
        Diagnostic::new(codes::MISMATCHED_TRANSFORM, text.embedded.whole(), message)
            .label(port_type.span, "the type that is taken")
            .help("let the transform give that type, or change the port's type"),
    )
}

/// What an expression reads of `context` and `outputs` is there.
fn paths(
    subject: &Subject<'_>,
    origin: Option<EdgeSource<'_>>,
    found: &ExpressionCheck,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for used in &found.paths {
        let [root, name, ..] = used.path.as_slice() else { continue };
        if root == "context" {
            diagnostics.extend(subject.undeclared_context(name, used.span));
        }
        let node = origin.and_then(|origin| origin.node());
        if let ("outputs", Some(node)) = (root.as_str(), node)
            && node.output(name).is_none()
            && node.outputs.is_complete()
        {
            let message = format!("node `{}` has no output `{name}`", node.id.value);
            let known: Vec<&str> = node.outputs.iter().map(|port| port.name.as_str()).collect();
            let diagnostic = Diagnostic::new(codes::UNKNOWN_PORT, used.span, message);
            let mut diagnostic =
                suggest(diagnostic, name, used.span, &known, |listed| format!("use {listed}"));
            // The place covers the whole path, so replacing it by a name would be wrong.
            diagnostic.fix = None;
            diagnostics.push(diagnostic);
        }
    }
}
