//! Conditions and transforms of edges are expressions over the value that travels.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_script::{ExpressionCheck, check_condition, check_expression};

use super::subject::{Subject, suggest};
use crate::graph::{self, Origin};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for edge in &subject.flow.edges {
        let origin = edge.from.as_ref().and_then(|end| graph::origin(subject.flow, end).ok());
        let mut scope = vec!["value", "context"];
        match origin {
            Some(Origin::Request(field)) => scope.push(field),
            Some(Origin::Output(_, port) | Origin::Error(_, port)) => {
                scope.extend(["outputs", port.name.as_str()]);
            }
            // The port that the edge names, though it is not there.
            None => {
                scope.push("outputs");
                scope.extend(edge.from.iter().filter_map(|end| end.port.as_ref()).map(|port| port.as_str()));
            }
        }
        let condition = edge.condition.as_ref().map(|text| check_condition(&text.embedded, &scope));
        let transform = edge.transform.as_ref().map(|text| check_expression(&text.embedded, &scope));
        for found in condition.into_iter().chain(transform) {
            paths(subject, origin, &found, diagnostics);
            diagnostics.extend(found.diagnostics);
        }
    }
}

/// What an expression reads of `context` and `outputs` is there.
fn paths(
    subject: &Subject<'_>,
    origin: Option<Origin<'_>>,
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
