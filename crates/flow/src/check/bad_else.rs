//! An edge with `else` is the one alternative to edges with conditions from the same port.

use std::collections::HashMap;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::subject::Subject;
use crate::graph::{Connected, EdgeSource};
use crate::model::INPUT;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut first: HashMap<(&str, &str), Span> = HashMap::new();
    for connected in &subject.edges {
        let Some(key) = connected.edge.otherwise else { continue };
        let source = source(connected);
        let name = format!("{}.{}", source.0, source.1);
        if !connected.edge.condition.is_absent() {
            let message = "an edge cannot have both `condition` and `else`";
            let help = "remove one of them; `else` fires when no condition from the same port holds";
            diagnostics.push(Diagnostic::new(codes::BAD_ELSE, key, message).help(help));
            continue;
        }
        if let Some(earlier) = first.get(&source) {
            let message = format!("two edges from `{name}` have `else`");
            diagnostics.push(
                Diagnostic::new(codes::BAD_ELSE, key, message)
                    .label(*earlier, "the other one")
                    .help("keep one of them; give the other a `condition`"),
            );
            continue;
        }
        first.insert(source, key);
        let has_condition = subject
            .edges
            .iter()
            .any(|other| !other.edge.condition.is_absent() && self::source(other) == source);
        // An edge that cannot be read may be the one with the condition.
        if !has_condition && subject.flow.edges.is_complete() {
            let message = format!("no edge from `{name}` has a condition, so `else` has no alternative");
            diagnostics.push(
                Diagnostic::new(codes::BAD_ELSE, key, message)
                    .help("remove `else`, or add an edge with a `condition` from the same port"),
            );
        }
    }
}

/// The node and the port that an edge leaves.
fn source<'flow>(connected: &Connected<'flow>) -> (&'flow str, &'flow str) {
    match connected.origin {
        EdgeSource::Request(field) => (INPUT, field),
        EdgeSource::Output(node, port) | EdgeSource::Error(node, port) => {
            (node.id.as_str(), port.name.as_str())
        }
    }
}
