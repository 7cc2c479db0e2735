//! Workflow commands of GitHub Actions: each finding becomes an annotation at its line.

use std::fmt::Write as _;

use super::visible;
use crate::{Diagnostic, LineColumn, Severity, Sources};

/// One command per finding, each on a line of its own with a line feed after it.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let (start, end) = sources.place_or_first(diagnostic.primary);
        let LineColumn { line, column } = start;
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let file = property(sources.name(diagnostic.primary.source));
        // Columns are only understood within one line.
        let range = if end.line == line {
            format!("col={column},endColumn={}", end.column)
        } else {
            format!("endLine={}", end.line)
        };
        let title = property(diagnostic.code.0);
        let mut message = diagnostic.message.clone();
        if let Some(help) = &diagnostic.help {
            message.push_str("\nhelp: ");
            message.push_str(help);
        }
        let message = data(&message);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "::{command} file={file},line={line},{range},title={title}::{message}");
    }
    out
}

fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Span};

    #[test]
    fn each_finding_is_one_command_that_no_text_can_leave() {
        let mut sources = Sources::new();
        let id = sources.add("flows/a,b.yaml", "one\ntwo: x\n");
        let findings = [
            Diagnostic::new(Code("sample-edge"), Span::new(id, 9, 10), "100% of\n::error::x").help("do: it"),
            Diagnostic::new(Code("odd"), Span::new(id, 0, 6), "lines").severity(Severity::Note),
        ];
        insta::assert_snapshot!(render(&findings, &sources), @r"
        ::error file=flows/a%2Cb.yaml,line=2,col=6,endColumn=7,title=sample-edge::100%25 of%0A::error::x%0Ahelp: do: it
        ::notice file=flows/a%2Cb.yaml,line=1,endLine=2,title=odd::lines
        ");
    }
}
