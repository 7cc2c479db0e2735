//! Findings as `line:column text code`, so that a table can hold them.

use stave_diag::{Diagnostic, Embedded, Sources, Span};

/// A text as a whole source of its own.
pub(crate) fn embedded(text: &str) -> (Sources, Embedded) {
    let mut sources = Sources::new();
    let source = sources.add("text", text);
    (sources, Embedded::verbatim(text, source, 0))
}

/// Each finding's place, marked text and code.
pub(crate) fn listed(sources: &Sources, diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics
        .iter()
        .map(|diagnostic| {
            let (start, _) = sources.place(diagnostic.primary).unwrap();
            let marked = sources.slice(diagnostic.primary);
            format!("{}:{} `{marked}` {}", start.line, start.column, diagnostic.code)
        })
        .collect()
}

pub(crate) fn transform(code: &str) -> Vec<String> {
    let (sources, embedded) = embedded(code);
    let fallback = Span::new(embedded.whole().source, 0, 0);
    listed(&sources, &stave_script::check_transform(&embedded, fallback).diagnostics)
}

pub(crate) fn condition(text: &str, scope: &[&str]) -> Vec<String> {
    let (sources, embedded) = embedded(text);
    listed(&sources, &stave_script::check_condition(&embedded, scope).diagnostics)
}

pub(crate) fn template(text: &str, scope: &[&str]) -> Vec<String> {
    let (sources, embedded) = embedded(text);
    listed(&sources, &stave_script::check_template(&embedded, scope).diagnostics)
}
