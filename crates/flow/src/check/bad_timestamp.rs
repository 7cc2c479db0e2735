//! Times of creation and change are RFC 3339.

use stave_canon::Timestamp;
use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let metadata = &subject.flow.metadata;
    for (name, text) in [("created_at", &metadata.created_at), ("modified_at", &metadata.modified_at)] {
        let Some(text) = text else { continue };
        if text.as_str().parse::<Timestamp>().is_err() {
            let message = format!("`{name}` is `{}`, which is not an RFC 3339 time", text.as_str());
            diagnostics.push(
                Diagnostic::new(codes::BAD_TIMESTAMP, text.span, message)
                    .help("write it like `2026-01-02T03:04:05Z`"),
            );
        }
    }
}
