//! What a prompt requires of its answer and the schema of the port that takes its answer say the same.

use stave_canon::Value;
use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::answer_schema::answer_schema;
use super::schema_overlap::disjoint;
use super::schema_proof::doubt;
use super::subject::{Subject, listed};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    // Without a transform the answer is the only output, so both schemas judge the same value.
    for node in subject.nodes().filter(|node| node.transform.is_absent()) {
        let answer = node.prompt.as_ref().and_then(|prompt| answer_schema(prompt, subject.options));
        let ([port], Some(answer)) = (&*node.outputs, answer) else { continue };
        let Some(schema) = &port.schema else { continue };
        let (from, to) = (answer.schema, schema.to_value());
        if disjoint(&from, &to, "the value").is_some() {
            continue;
        }
        let Some(reason) = doubt(&from, &to).or_else(|| unnamed(&from, &to)) else { continue };
        let message = format!(
            "`{}` and the schema of `{}` have drifted apart: {reason}",
            answer.field,
            port.name.as_str()
        );
        diagnostics.push(
            Diagnostic::new(codes::SCHEMA_DRIFT, schema.span, message)
                .label(answer.span, "what the model must answer")
                .help("make the two say the same, or leave the schema of the port out"),
        );
    }
}

/// Properties that only the port's schema names, which no answer was asked for.
fn unnamed(answer: &Value, port: &Value) -> Option<String> {
    let names = |schema: &Value| schema.get("properties").and_then(Value::as_object).cloned();
    let (asked, promised) = (names(answer)?, names(port)?);
    let only: Vec<&str> =
        promised.keys().map(String::as_str).filter(|name| !asked.contains_key(*name)).collect();
    (!only.is_empty()).then(|| format!("only the port's schema names {}", listed(only)))
}
