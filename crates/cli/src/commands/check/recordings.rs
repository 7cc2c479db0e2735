//! The replies that a flow's tests give are there and can be read. The flow line reads no files and knows no recordings, so
//! the command looks.

use std::path::Path;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};
use stave_flow::Parsed;
use stave_llm::recording::Recording;

use crate::files;

/// A finding for each test whose recording is no file beside the flow, or no recording, and for replies in a test that it
/// cannot use.
pub(super) fn find(parsed: &Parsed, file: &Path) -> Vec<Diagnostic> {
    let Some(flow) = &parsed.flow else { return Vec::new() };
    let mut found = Vec::new();
    for test in &flow.tests {
        let faults = stave_testing::scripted_faults(test).into_iter();
        found.extend(faults.map(|(span, fault)| diagnostic(span, fault)));
        // A text from standard input has no place of its own.
        let Some(name) = test.recording.as_ref().filter(|_| file.as_os_str() != "-") else { continue };
        let path = file.parent().unwrap_or(Path::new("")).join(name.as_str());
        if !path.is_file() {
            let message = format!("the recording `{}` does not exist", name.as_str());
            found.push(diagnostic(name.span, message).help("`stave test --record` writes it"));
        } else if let Err(fault) = files::read_text(&path)
            .map_err(|stop| stop.message)
            .and_then(|text| Recording::parse(&text).map(drop).map_err(|error| error.message))
        {
            found.push(diagnostic(name.span, format!("the recording `{}`: {fault}", name.as_str())));
        }
    }
    for diagnostic in &mut found {
        diagnostic.pointer = parsed.tree.as_ref().map(|tree| tree.pointer(diagnostic.primary));
    }
    found
}

fn diagnostic(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(codes::BAD_TEST, span, message)
}
