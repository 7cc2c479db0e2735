//! A denial that a prompt routes has somewhere to go: an edge out of an error port, or a static response.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_vocabulary::OnDenied;

use super::subject::Subject;
use crate::graph::EdgeSource;
use crate::model::{Node, Prompt};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(prompt) = node.prompt.as_ref() else { continue };
        let Some(on_denied) = prompt.on_denied else { continue };
        let id = node.id.as_str();
        let found = match on_denied.value {
            OnDenied::ErrorPort if !has_route(subject, node) => Some((
                format!("node `{id}` routes a denied prompt to its error port, and no edge leaves one"),
                "add `error: {name: failed}` to the node and an edge from that port, or write `on_denied: fail`",
            )),
            OnDenied::Fallback if !has_response(prompt) => Some((
                format!(
                    "node `{id}` answers a denied prompt by its fallback, which has no `static_response`"
                ),
                "add `static_response` to `fallback`; no other model is asked what governance denied",
            )),
            OnDenied::Fail | OnDenied::ErrorPort | OnDenied::Fallback => None,
        };
        if let Some((message, help)) = found {
            diagnostics.push(Diagnostic::new(codes::UNROUTED_DENIAL, on_denied.span, message).help(help));
        }
    }
}

/// Whether something takes a failure of the node: an edge, or the node that calls it.
fn has_route(subject: &Subject<'_>, node: &Node) -> bool {
    let id = node.id.as_str();
    !subject.callers(id).is_empty()
        || !subject.runners(id).is_empty()
        // An edge whose ends cannot be read may be the one.
        || subject.edges.iter().any(|connected| match &connected.origin {
            EdgeSource::Error(from, ..) => from.id.as_str() == id,
            _ => false,
        })
}

fn has_response(prompt: &Prompt) -> bool {
    prompt.fallback.as_ref().is_some_and(|fallback| !fallback.static_response.is_absent())
}
