//! The recordings that a flow's tests name are there. The flow line reads no files, so the command looks.

use std::path::Path;

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_flow::Parsed;

/// A finding for each test whose recording is no file beside the flow.
pub(super) fn missing(parsed: &Parsed, file: &Path) -> Vec<Diagnostic> {
    // A text from standard input has no place of its own.
    let (Some(flow), false) = (&parsed.flow, file.as_os_str() == "-") else { return Vec::new() };
    let folder = file.parent().unwrap_or(Path::new(""));
    let named = flow.tests.iter().filter_map(|test| test.recording.as_ref());
    let absent = named.filter(|name| !folder.join(name.as_str()).is_file());
    absent
        .map(|name| {
            let message = format!("the recording `{}` does not exist", name.as_str());
            let help = "`stave test --record` writes it";
            let mut found = Diagnostic::new(codes::BAD_TEST, name.span, message).help(help);
            found.pointer = parsed.tree.as_ref().map(|tree| tree.pointer(name.span));
            found
        })
        .collect()
}
