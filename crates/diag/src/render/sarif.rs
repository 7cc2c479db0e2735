//! SARIF 2.1.0, the exchange format of static analysis results.
//!
//! Invariant: every result names a rule of the driver by id and index, every region counts from 1 in
//! characters with its end column after the last one, and every URI is percent-encoded.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::Colour;
use crate::{
    Code, Diagnostic, Edit, Fix, Label, LineColumn, Severity, SourceId, Sources, Span, lookup, page,
};

/// What is encoded in a path: all but unreserved characters and the slash between its parts.
const NOT_IN_PATHS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The findings in the order given, as one SARIF log with one run.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let indices: BTreeMap<Code, usize> = {
        let codes: std::collections::BTreeSet<Code> = diagnostics.iter().map(|found| found.code).collect();
        codes.into_iter().enumerate().map(|(index, code)| (code, index)).collect()
    };
    let driver = Driver {
        name: "stave",
        version: env!("CARGO_PKG_VERSION"),
        rules: indices.keys().copied().map(Rule::of).collect(),
    };
    let results = diagnostics
        .iter()
        .map(|found| Found::of(found, indices.get(&found.code).copied().unwrap_or_default(), sources))
        .collect();
    super::json_text(&Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run { tool: Tool { driver }, column_kind: "unicodeCodePoints", results }],
    })
}

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    column_kind: &'static str,
    results: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

/// A row of the code table. A code without a row has its name only.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    short_description: Option<Text<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<Help>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_configuration: Option<Configuration>,
}

impl Rule {
    fn of(code: Code) -> Self {
        let row = lookup(code.0);
        Rule {
            id: code.0,
            short_description: row.map(|row| Text { text: row.summary }),
            help: row
                .map(|row| Help { text: page::to_terminal(row.page, Colour::Never), markdown: row.page }),
            default_configuration: row.map(|row| Configuration { level: level(row.severity) }),
        }
    }
}

#[derive(Serialize)]
struct Help {
    text: String,
    markdown: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Text<T> {
    text: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'a> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Text<String>,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Cure<'a>>,
}

impl<'a> Found<'a> {
    fn of(diagnostic: &'a Diagnostic, rule_index: usize, sources: &Sources) -> Self {
        let mut text = diagnostic.message.clone();
        if let Some(help) = &diagnostic.help {
            text.push_str("\nhelp: ");
            text.push_str(help);
        }
        let related = diagnostic.labels.iter().enumerate();
        // The standard has no fix that changes nothing.
        let cures = diagnostic.fix.iter().filter(|fix| !fix.edits.is_empty());
        Found {
            rule_id: diagnostic.code.0,
            rule_index,
            level: level(diagnostic.severity),
            message: Text { text },
            locations: [Location {
                id: None,
                physical_location: PhysicalLocation::of(diagnostic.primary, sources),
                logical_locations: diagnostic
                    .pointer
                    .iter()
                    .map(|pointer| LogicalLocation::of(pointer))
                    .collect(),
                message: diagnostic.primary_label.as_deref().map(|text| Text { text }),
            }],
            related_locations: related
                .map(|(index, label)| Location::related(index, label, sources))
                .collect(),
            fixes: cures.map(|fix| Cure::of(fix, sources)).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Text<&'a str>>,
}

/// A place in the document, as a JSON Pointer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation<'a> {
    fully_qualified_name: &'a str,
    kind: &'static str,
}

impl<'a> Location<'a> {
    fn related(index: usize, label: &'a Label, sources: &Sources) -> Self {
        Location {
            id: Some(index + 1),
            physical_location: PhysicalLocation::of(label.span, sources),
            logical_locations: Vec::new(),
            message: Some(Text { text: &label.message }),
        }
    }
}

impl<'a> LogicalLocation<'a> {
    fn of(pointer: &'a str) -> Self {
        // A pointer ends in a number where it leads to an item of a list.
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let is_item = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        LogicalLocation { fully_qualified_name: pointer, kind: if is_item { "element" } else { "member" } }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

impl PhysicalLocation {
    fn of(span: Span, sources: &Sources) -> Self {
        PhysicalLocation {
            artifact_location: ArtifactLocation { uri: uri(sources.name(span.source)) },
            region: Region::of(span, sources),
        }
    }
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
}

impl Region {
    fn of(span: Span, sources: &Sources) -> Self {
        let (LineColumn { line, column }, end) = sources.place_or_first(span);
        Region { start_line: line, start_column: column, end_line: end.line, end_column: end.column }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cure<'a> {
    description: Text<&'a str>,
    artifact_changes: Vec<ArtifactChange<'a>>,
}

impl<'a> Cure<'a> {
    fn of(fix: &'a Fix, sources: &Sources) -> Self {
        let mut edits_of: BTreeMap<SourceId, Vec<&Edit>> = BTreeMap::new();
        for edit in &fix.edits {
            edits_of.entry(edit.span.source).or_default().push(edit);
        }
        let change = |(id, edits): (SourceId, Vec<&'a Edit>)| ArtifactChange {
            artifact_location: ArtifactLocation { uri: uri(sources.name(id)) },
            replacements: edits.into_iter().map(|edit| Replacement::of(edit, sources)).collect(),
        };
        Cure {
            description: Text { text: &fix.title },
            artifact_changes: edits_of.into_iter().map(change).collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactChange<'a> {
    artifact_location: ArtifactLocation,
    replacements: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement<'a> {
    deleted_region: Region,
    inserted_content: Text<&'a str>,
}

impl<'a> Replacement<'a> {
    fn of(edit: &'a Edit, sources: &Sources) -> Self {
        Replacement {
            deleted_region: Region::of(edit.span, sources),
            inserted_content: Text { text: &edit.replacement },
        }
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// A path with forward slashes as a URI reference: relative ones stay relative, absolute ones get the
/// `file` scheme.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, NOT_IN_PATHS))
}

#[cfg(test)]
mod tests;
