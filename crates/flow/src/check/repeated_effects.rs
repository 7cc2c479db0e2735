//! An operation that changes something outside is repeated only where the other side can tell.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::model::{Node, Transform};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes().filter(|node| node.has_effects()) {
        let Some(retries) = node.runtime.retries.filter(|retries| retries.value > 0) else { continue };
        let op = node.op().unwrap_or_default();
        if is_told_apart(node) {
            continue;
        }
        let (times, cure) = (retries.value, cure(op));
        let message = format!("`{op}` may be done {} times, and nothing says which are the same", times + 1);
        diagnostics.push(Diagnostic::new(codes::REPEATED_EFFECT, retries.span, message).help(cure));
    }
}

/// Whether the author gave the other side a way to see that two attempts are one.
fn is_told_apart(node: &Node) -> bool {
    let operation = node.transform.as_ref().and_then(Transform::operation);
    let Some(args) = operation.and_then(|operation| operation.args.as_ref()) else { return true };
    let headers = args.get("headers").and_then(|headers| headers.entries()).unwrap_or_default();
    headers.iter().any(|entry| entry.key.eq_ignore_ascii_case("idempotency-key"))
        || args.get("event_time").is_some()
}

fn cure(op: &str) -> &'static str {
    match op {
        "http.post" => {
            "every attempt carries the same `Idempotency-Key`, which helps only if the host honours it; \
             write the header yourself, or leave `retries` out"
        }
        _ => "add `event_time`, so that the same rows are written over themselves, or leave `retries` out",
    }
}
