//! An edge out of a node that runs only when another node calls it never carries anything: the result, or the
//! failure, goes to the caller.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::graph::{self, EdgeSource};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    // An edge whose destination cannot be read may feed what seems to wait for a call.
    if subject.unreadable_destinations() > 0 {
        return;
    }
    let called = graph::run_only_when_called(subject.flow, &subject.edges);
    for connected in &subject.edges {
        let Some(node) = connected.origin.node() else { continue };
        let id = node.id.as_str();
        let (callers, runners) = (subject.callers(id), subject.runners(id));
        if !called.contains(id) {
            continue;
        }
        let caller = runners.first().copied().or_else(|| callers.first().map(|(node, _)| *node));
        let caller = caller.map_or("another node", |node| node.id.as_str());
        let what = if matches!(connected.origin, EdgeSource::Error(..)) { "failure" } else { "result" };
        let message = format!("nothing travels along this edge: `{id}` runs only when `{caller}` calls it");
        let span = connected.edge.from.as_ref().map_or(connected.edge.span, |from| from.span);
        diagnostics.push(
            Diagnostic::new(codes::LOST_EDGE, span, message)
                .label(node.id.span, format!("its {what} goes to `{caller}`"))
                .help(format!(
                    "begin the edge at `{caller}`, or feed every required input of `{id}` by edges"
                )),
        );
    }
}
