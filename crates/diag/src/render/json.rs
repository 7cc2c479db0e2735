//! The machine interface: `{"diagnostics": [...]}`.
//!
//! Invariant: every key is always present and in the order of the structures below; lines and columns count
//! from 1, columns in characters; offsets count bytes from 0.

use serde::Serialize;

use crate::{Diagnostic, Edit, Fix, Label, LineColumn, Sources, Span};

/// The whole answer, for a caller that wants more than the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonReport<'a> {
    pub diagnostics: Vec<JsonDiagnostic<'a>>,
}

/// One diagnostic with its places resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonDiagnostic<'a> {
    pub code: &'a str,
    pub severity: &'static str,
    pub message: &'a str,
    #[serde(flatten)]
    pub place: JsonLocation<'a>,
    /// The place as a JSON Pointer; absent where the file is no document that has them.
    pub pointer: Option<&'a str>,
    /// What to say right at the place.
    pub label: Option<&'a str>,
    pub help: Option<&'a str>,
    pub labels: Vec<PlacedLabel<'a>>,
    pub fix: Option<PlacedFix<'a>>,
}

/// A span as people and machines count it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonLocation<'a> {
    pub file: &'a str,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
    pub offset: u32,
    pub end_offset: u32,
}

/// A second place that explains the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlacedLabel<'a> {
    pub message: &'a str,
    #[serde(flatten)]
    pub place: JsonLocation<'a>,
}

/// A cure a machine can apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlacedFix<'a> {
    pub title: &'a str,
    pub edits: Vec<PlacedEdit<'a>>,
}

/// One replacement of a fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlacedEdit<'a> {
    #[serde(flatten)]
    pub place: JsonLocation<'a>,
    pub replacement: &'a str,
}

/// The findings in the order given, as indented JSON with a line feed at its end.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    super::json_text(&report(diagnostics, sources))
}

/// The findings with their places resolved.
#[must_use]
pub fn report<'a>(diagnostics: &'a [Diagnostic], sources: &'a Sources) -> JsonReport<'a> {
    JsonReport { diagnostics: diagnostics.iter().map(|diagnostic| finding(diagnostic, sources)).collect() }
}

/// One finding with its places resolved.
#[must_use]
pub fn finding<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> JsonDiagnostic<'a> {
    JsonDiagnostic {
        code: diagnostic.code.0,
        severity: diagnostic.severity.word(),
        message: &diagnostic.message,
        place: place(diagnostic.primary, sources),
        pointer: diagnostic.pointer.as_deref(),
        label: diagnostic.primary_label.as_deref(),
        help: diagnostic.help.as_deref(),
        labels: diagnostic.labels.iter().map(|label| placed_label(label, sources)).collect(),
        fix: diagnostic.fix.as_ref().map(|fix| placed_fix(fix, sources)),
    }
}

fn place(span: Span, sources: &Sources) -> JsonLocation<'_> {
    let span = sources.clamp(span);
    let (LineColumn { line, column }, end) = sources.place_or_first(span);
    JsonLocation {
        file: sources.name(span.source),
        line,
        column,
        end_line: end.line,
        end_column: end.column,
        offset: span.start,
        end_offset: span.end,
    }
}

fn placed_label<'a>(label: &'a Label, sources: &'a Sources) -> PlacedLabel<'a> {
    PlacedLabel { message: &label.message, place: place(label.span, sources) }
}

fn placed_fix<'a>(fix: &'a Fix, sources: &'a Sources) -> PlacedFix<'a> {
    let edit =
        |edit: &'a Edit| PlacedEdit { place: place(edit.span, sources), replacement: &edit.replacement };
    PlacedFix { title: &fix.title, edits: fix.edits.iter().map(edit).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn the_whole_of_a_finding_is_told() {
        let mut sources = Sources::new();
        let id = sources.add("flows/a.yaml", "nodes:\r\n  漢: x\r\nedges: y\n");
        let finding = Diagnostic::new(Code("sample-edge"), Span::new(id, 25, 26), "no node `y`")
            .at_primary("not a node")
            .label(Span::new(id, 10, 13), "the nodes are here")
            .help("write `漢`")
            .fix(Fix::replace("rename to `漢`", Span::new(id, 25, 26), "漢"));
        insta::assert_snapshot!(render(&[finding], &sources));
    }

    #[test]
    fn absent_parts_are_null_and_no_finding_is_an_empty_list() {
        let mut sources = Sources::new();
        let id = sources.add("a.yaml", "");
        insta::assert_snapshot!(render(
            &[Diagnostic::new(Code("sample-empty"), Span::new(id, 0, 9), "nothing")],
            &sources
        ));
        assert_eq!(render(&[], &sources), "{\n  \"diagnostics\": []\n}\n");
    }
}
