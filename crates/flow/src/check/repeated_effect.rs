//! An operation that changes something outside is repeated only where the other side can detect the repetition.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_operations::{DuplicateKey, Repeat};

use super::subject::Subject;
use crate::model::{Node, Transform};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(operation) = node.descriptor() else { continue };
        let (key, advice) = match operation.repeat {
            Repeat::SafeWith { key, advice } => (Some(key), advice),
            Repeat::Unsafe { advice } => (None, advice),
            Repeat::Safe | Repeat::ByPart => continue,
        };
        let Some(retries) = node.runtime.retries.filter(|retries| retries.value > 0) else { continue };
        if key.is_some_and(|key| is_given(node, key)) {
            continue;
        }
        let (op, times) = (operation.name, retries.value);
        let message = format!("`{op}` may be done {} times, and nothing says which are the same", times + 1);
        diagnostics.push(Diagnostic::new(codes::REPEATED_EFFECT, retries.span, message).help(advice));
    }
}

/// Whether the author gave the other side a way to see that two attempts are one.
fn is_given(node: &Node, key: DuplicateKey) -> bool {
    let operation = node.transform.as_ref().and_then(Transform::operation);
    let Some(args) = operation.and_then(|operation| operation.args.as_ref()) else { return true };
    match key {
        DuplicateKey::Header(name) => {
            let headers = args.get("headers").and_then(|headers| headers.entries()).unwrap_or_default();
            headers.iter().any(|entry| entry.key.eq_ignore_ascii_case(name))
        }
        DuplicateKey::Argument(name) => args.get(name).is_some(),
    }
}
