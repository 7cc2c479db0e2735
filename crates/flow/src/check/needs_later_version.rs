//! A flow uses only the fields that its version of the format has.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Fix};

use super::subject::Subject;
use crate::model::FormatVersion;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(version) = &subject.flow.version else { return };
    let FormatVersion { major, minor, .. } = version.value;
    for field in subject.flow.later_fields.iter().filter(|field| field.since > minor) {
        let needed = format!("\"{major}.{}\"", field.since);
        let message =
            format!("{} needs version {major}.{}, and the flow is {major}.{minor}", field.path, field.since);
        diagnostics.push(
            Diagnostic::new(codes::NEEDS_LATER_VERSION, field.key, message)
                .help(format!("write `version: {needed}`, or remove the field"))
                .fix(Fix::replace(format!("write `version: {needed}`"), version.span, needed)),
        );
    }
}
