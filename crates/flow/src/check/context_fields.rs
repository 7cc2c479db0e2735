//! Context fields that a node says it needs are declared.

use stave_diag::Diagnostic;

use super::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        for field in &node.runtime.requires_context {
            diagnostics.extend(subject.undeclared_context(field.as_str(), field.span));
        }
    }
}
