//! What a node makes is used, unless the node works by its effects.

use std::collections::HashSet;

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::graph;
use crate::model::Node;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    // An edge with a broken end was meant to use its node.
    let used: HashSet<&str> = subject
        .flow
        .edges
        .iter()
        .filter_map(|edge| edge.from.as_ref())
        .map(|end| end.node.as_str())
        .collect();
    for node in subject.nodes() {
        let id = node.id.as_str();
        let is_called = !subject.callers(id).is_empty() || !subject.runners(id).is_empty();
        if used.contains(id) || works_by_effect(subject, node) || is_called {
            continue;
        }
        let message = format!("nothing uses what node `{id}` makes");
        diagnostics.push(
            Diagnostic::new(codes::UNUSED_NODE, node.id.span, message)
                .help("connect one of its outputs, or remove the node"),
        );
    }
}

fn works_by_effect(subject: &Subject<'_>, node: &Node) -> bool {
    let writes = subject.code.get(node.id.as_str()).is_some_and(|code| code.facts.reads.sets_state);
    graph::effect(subject.flow, node).is_some() || (node.state.is_some() && writes) || node.outputs.is_empty()
}
