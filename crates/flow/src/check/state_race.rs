//! Two nodes that write one state record do so in an order that the edges fix.

use std::collections::HashMap;

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_script::python::StateMethod;

use super::state_keys;
use super::subject::Subject;
use crate::model::Node;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut writers: HashMap<String, Vec<&Node>> = HashMap::new();
    for node in subject.nodes() {
        let Some(state) = node.state.as_ref() else { continue };
        let Some(code) = subject.code.get(node.id.as_str()) else { continue };
        let writes = code.facts.state.iter().any(|used| used.method != StateMethod::Get);
        if writes && let Some(record) = state_keys::record(subject, node, state) {
            writers.entry(record).or_default().push(node);
        }
    }
    for nodes in writers.values() {
        for (index, later) in nodes.iter().enumerate().skip(1) {
            // One report for each node that races with one ahead of it in the file.
            let ordered = subject.ordered_with(&later.id);
            let earlier = nodes.iter().take(index).find(|earlier| !ordered(&earlier.id));
            let Some(earlier) = earlier else { continue };
            let message = format!(
                "nodes `{}` and `{}` write the same state record in no certain order",
                earlier.id.value, later.id.value
            );
            let place = |node: &Node| {
                node.state
                    .as_ref()
                    .map_or(node.id.span, |state| state.key.as_ref().map_or(state.key_span, |key| key.span))
            };
            diagnostics.push(
                Diagnostic::new(codes::STATE_RACE, place(later), message)
                    .label(place(earlier), "the same record")
                    .help("connect one node to the other by an edge, or give them different keys"),
            );
        }
    }
}
