//! The strict dialect: what the default one lets pass with a warning is an error.

use stave_diag::codes::flow as codes;
use stave_diag::{Code, Diagnostic, Severity};

/// Warnings about something that the specification rules out, or leaves no room for.
const LENIENCIES: &[Code] = &[
    codes::CONFLICTING_ARGUMENTS,
    codes::CONTESTED_PORT,
    codes::RESERVED_OP,
    codes::UNKNOWN_MINOR_VERSION,
    codes::UNKNOWN_PROVIDER,
    codes::UNQUOTED_VERSION,
    codes::UNSCOPED_STATE_KEY,
];

/// Makes errors of the warnings that the strict dialect does not allow.
pub(crate) fn promote(diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| LENIENCIES.contains(&diagnostic.code)) {
        diagnostic.severity = Severity::Error;
    }
}
