//! Templates and output schemas that a prompt names are in the project's template files.

use stave_diag::codes::flow as codes;
use stave_diag::{Code, Diagnostic};

use super::DEFAULT_SCHEMA;
use super::subject::{Subject, suggest};
use crate::model::Text;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(known) = &subject.options.prompts else { return };
    let templates: Vec<&str> = known.templates.keys().map(String::as_str).collect();
    let schemas: Vec<&str> =
        std::iter::once(DEFAULT_SCHEMA).chain(known.schemas.keys().map(String::as_str)).collect();
    for prompt in subject.nodes().filter_map(|node| node.prompt.as_ref()) {
        let template = prompt.template_id.as_ref();
        diagnostics
            .extend(template.and_then(|name| unknown(name, codes::UNKNOWN_TEMPLATE, "template", &templates)));
        let schema = prompt.schema_id.as_ref();
        diagnostics
            .extend(schema.and_then(|name| unknown(name, codes::UNKNOWN_SCHEMA, "output schema", &schemas)));
    }
}

fn unknown(name: &Text, code: Code, what: &str, known: &[&str]) -> Option<Diagnostic> {
    let word = name.as_str();
    if known.contains(&word) {
        return None;
    }
    let message = format!("the project has no {what} `{word}`");
    let diagnostic = Diagnostic::new(code, name.span, message);
    Some(suggest(diagnostic, word, name.span, known, |listed| {
        format!("define it in a file of the folder `templates`, or use one of {listed}")
    }))
}
