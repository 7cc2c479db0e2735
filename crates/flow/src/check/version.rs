//! The flow is of a version that is read here.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Fix};

use super::subject::Subject;
use crate::model::FormatVersion;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(version) = &subject.flow.version else { return };
    let FormatVersion { major, minor, quoted } = version.value;
    let current = FormatVersion::CURRENT;
    let quoted_text = format!("\"{major}.{minor}\"");
    let quote = || Fix::replace(format!("write `{quoted_text}`"), version.span, quoted_text.clone());
    if major != current.major {
        let message = format!("version {major}.{minor} of the flow format is not read here");
        let help = "this program reads versions 1.0 and 1.1; write `version: \"1.0\"` if the flow is of that version";
        diagnostics.push(Diagnostic::new(codes::UNSUPPORTED_VERSION, version.span, message).help(help));
    } else if minor > current.minor {
        let message =
            format!("version {major}.{minor} is later than 1.1, and what it adds is not known here");
        diagnostics.push(Diagnostic::new(codes::UNKNOWN_MINOR_VERSION, version.span, message));
    } else if !quoted {
        let message = "the version is a number, and the format wants text";
        let help = format!("write `version: \"{major}.{minor}\"`");
        diagnostics
            .push(Diagnostic::new(codes::UNQUOTED_VERSION, version.span, message).help(help).fix(quote()));
    }
}
