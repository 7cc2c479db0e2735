//! A prompt states the form of its answer once: only one of the statements could hold.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::DEFAULT_SCHEMA;
use super::subject::{Subject, listed};
use crate::model::Prompt;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(prompt) = node.prompt.as_ref() else { continue };
        let stated = stated(prompt);
        let [(_, first), .., (_, last)] = stated.as_slice() else { continue };
        let fields = listed(stated.iter().map(|(field, _)| *field));
        let message =
            format!("the prompt of node `{}` states the form of its answer in {fields}", node.id.as_str());
        diagnostics.push(
            Diagnostic::new(codes::COMPETING_REQUIREMENTS, *last, message)
                .label(*first, "it is stated here already")
                .help("keep one of them"),
        );
    }
}

/// The fields that state the form of the answer, each with its place, in the order of the text.
fn stated(prompt: &Prompt) -> Vec<(&'static str, Span)> {
    let schema_id = prompt.schema_id.as_ref().filter(|id| id.as_str() != DEFAULT_SCHEMA);
    let fields = [
        ("output_schema", prompt.output_schema.as_ref().map(|schema| schema.span)),
        ("output_requirements", prompt.output_requirements.as_ref().map(|stated| stated.span)),
        ("schema_id", schema_id.map(|id| id.span)),
    ];
    let mut stated: Vec<_> = fields.into_iter().filter_map(|(field, span)| Some((field, span?))).collect();
    stated.sort_by_key(|(_, span)| span.range().start);
    stated
}
