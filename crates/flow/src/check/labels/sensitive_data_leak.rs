//! The report of a leak, with the way that the data took.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::path::Label;
use crate::model::Sensitivity;

/// A report that data of this label comes where only less sensitive data may.
pub(super) fn report(
    label: &Label,
    span: Span,
    receiver: &str,
    accepted: Sensitivity,
    help: String,
) -> Diagnostic {
    let message = format!(
        "{} data from {} reaches {receiver}, which takes {} data at most",
        label.level.word(),
        label.source(),
        accepted.word()
    );
    let mut diagnostic = Diagnostic::new(codes::SENSITIVE_DATA_LEAK, span, message).help(help);
    for (span, step) in label.steps() {
        diagnostic = diagnostic.label(span, step);
    }
    diagnostic
}
