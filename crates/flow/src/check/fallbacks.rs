//! A fallback has something to fall back on, and its fixed answer is one that the prompt allows.

use stave_canon::Value;
use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};
use stave_schema::SchemaValidator;

use super::answer_schema::answer_schema;
use super::schemas;
use super::subject::Subject;
use crate::model::{Fallback, Prompt, Text};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(prompt) = node.prompt.as_ref() else { continue };
        let Some(fallback) = &prompt.fallback else { continue };
        diagnostics.extend(empty(fallback));
        if let Some(response) = fallback.static_response.as_ref() {
            diagnostics.extend(static_response(subject, prompt, response));
        }
    }
}

fn empty(fallback: &Fallback) -> Option<Diagnostic> {
    if !fallback.model.is_absent() || !fallback.static_response.is_absent() {
        return None;
    }
    let message = "the fallback has neither a `model` nor a `static_response`, so it changes nothing";
    Some(
        Diagnostic::new(codes::EMPTY_FALLBACK, fallback.key, message)
            .help("add a `model` to ask instead, or a `static_response` to answer with"),
    )
}

/// With an output schema the fixed answer is JSON that satisfies it; without one it is plain text.
fn static_response(subject: &Subject<'_>, prompt: &Prompt, response: &Text) -> Option<Diagnostic> {
    let (validator, stated) = match &prompt.output_schema {
        Some(schema) => (schemas::compile(schema)?, schema.span),
        None => {
            let answer = answer_schema(prompt, subject.options)?;
            // An answer in another format is a text, as every static response is.
            let is_json = answer.schema.get("type").and_then(Value::as_str) != Some("string");
            (SchemaValidator::new(&answer.schema).ok().filter(|_| is_json)?, answer.span)
        }
    };
    let value = match stave_canon::parse(response.as_str()) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("the static response is not JSON, which the output schema wants: {error}");
            return Some(
                Diagnostic::new(codes::BAD_STATIC_RESPONSE, content(response), message)
                    .label(stated, "the output schema")
                    .help("write the answer as JSON in quotes, such as `'{\"answer\": \"…\"}'`"),
            );
        }
    };
    let (path, error) = validator.first_violation(&value)?;
    let at = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
    let message = format!("the static response breaks the output schema{at}: {error}");
    let span = stave_canon::locate(response.as_str(), &path)
        .map_or_else(|| content(response), |range| response.at(range));
    Some(Diagnostic::new(codes::BAD_STATIC_RESPONSE, span, message).label(stated, "the output schema"))
}

/// The text of a scalar without its quotes or block header.
fn content(text: &Text) -> Span {
    if text.as_str().is_empty() { text.span } else { text.embedded.whole() }
}
