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
    let mut unused = Vec::new();
    for node in subject.nodes() {
        let id = node.id.as_str();
        let is_called = !subject.callers(id).is_empty() || !subject.runners(id).is_empty();
        if used.contains(id) || works_by_effect(subject, node) || is_called || subject.has_unreadable_calls()
        {
            continue;
        }
        let message = format!("nothing uses what node `{id}` makes");
        unused.push(
            Diagnostic::new(codes::UNUSED_NODE, node.id.span, message)
                .help("connect one of its outputs, or remove the node"),
        );
    }
    // An edge whose origin cannot be read was meant to use one of them.
    let edges = &subject.flow.edges;
    let unreadable = edges.iter().filter(|edge| edge.from.is_none()).count();
    if unused.len() > unreadable.saturating_add(edges.unreadable_items()) {
        diagnostics.append(&mut unused);
    }
}

fn works_by_effect(subject: &Subject<'_>, node: &Node) -> bool {
    let writes = subject.code.get(node.id.as_str()).is_some_and(|code| code.facts.reads.sets_state);
    graph::effect(subject.flow, node).is_some()
        || (!node.state.is_absent() && writes)
        || (node.outputs.is_empty() && node.outputs.is_complete())
}
