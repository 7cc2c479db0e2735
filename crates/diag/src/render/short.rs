//! One line per finding, for editors and for searching: `file:line:column: severity[code]: message`.

use std::fmt::Write as _;

use super::visible;
use crate::{Diagnostic, LineColumn, Sources};

/// The findings in the order given, each on a line of its own with a line feed after it.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let (LineColumn { line, column }, _) = sources.place_or_first(diagnostic.primary);
        let file = one_line(sources.name(diagnostic.primary.source));
        let (severity, code) = (diagnostic.severity, diagnostic.code);
        let message = one_line(&diagnostic.message);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{file}:{line}:{column}: {severity}[{code}]: {message}");
    }
    out
}

/// A program that reads line by line must not meet a line that is the tail of a message.
fn one_line(text: &str) -> String {
    visible(text).replace('\n', "␊")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, SourceId, Span};

    #[test]
    fn each_finding_is_one_line() {
        let mut sources = Sources::new();
        let id = sources.add("flows/a b.yaml", "one\ntwo: 漢x\n");
        let findings = [
            Diagnostic::new(Code("sample-edge"), Span::new(id, 12, 13), "no node `x`"),
            Diagnostic::new(Code("odd"), Span::at(id, 0), "two\nlines").severity(crate::Severity::Note),
            Diagnostic::new(Code("lost"), Span::at(SourceId(9), 0), "of no file"),
        ];
        insta::assert_snapshot!(render(&findings, &sources), @r"
        flows/a b.yaml:2:7: error[sample-edge]: no node `x`
        flows/a b.yaml:1:1: note[odd]: two␊lines
        <unknown>:1:1: error[lost]: of no file
        ");
    }
}
