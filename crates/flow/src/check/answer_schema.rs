//! What the answer of a prompt has to be, wherever that is stated: `output_schema`, `output_requirements`, `schema_id`, or the
//! template of the prompt's role.

use stave_canon::Value;
use stave_diag::Span;
use stave_schema::{OutputFormat, OutputRequirements};

use super::CheckOptions;
use crate::model::Prompt;

/// The schema of a prompt's answer, and where it is stated.
pub(super) struct AnswerSchema {
    pub(super) schema: Value,
    /// The field that states it.
    pub(super) field: &'static str,
    pub(super) span: Span,
}

/// What is known about the answer. `None` when nothing is, or when it cannot be used, which other rules report.
pub(super) fn answer_schema(prompt: &Prompt, options: &CheckOptions) -> Option<AnswerSchema> {
    if let Some(schema) = &prompt.output_schema {
        return Some(AnswerSchema { schema: schema.to_value(), field: "output_schema", span: schema.span });
    }
    if let Some((stated, field, span)) = requirements(prompt, options) {
        return Some(AnswerSchema { schema: schema_of(&stated)?, field, span });
    }
    None
}

fn requirements(prompt: &Prompt, options: &CheckOptions) -> Option<(OutputRequirements, &'static str, Span)> {
    if let Some(tree) = &prompt.output_requirements {
        let value = tree.to_value();
        let stated = value.as_object().filter(|stated| !stated.is_empty());
        if let Some(stated) = stated {
            return Some((OutputRequirements::of_prompt(stated).ok()?, "output_requirements", tree.span));
        }
    }
    let known = options.prompts.as_ref()?;
    if let Some(schema_id) = prompt.schema_id.as_ref().filter(|id| id.as_str() != super::DEFAULT_SCHEMA) {
        let schema = known.schemas.get(schema_id.as_str())?.clone();
        return Some((OutputRequirements::of_schema(schema), "schema_id", schema_id.span));
    }
    let (named, field) = match (&prompt.template_id, &prompt.role) {
        (Some(template_id), _) => (template_id, "template_id"),
        (None, Some(role)) => (role, "role"),
        (None, None) => return None,
    };
    let stated = known.template_of(named.as_str(), field == "role")?.clone()?;
    Some((stated, field, named.span))
}

/// An answer in JSON fits its schema; in any other format it is a text.
fn schema_of(stated: &OutputRequirements) -> Option<Value> {
    match stated.format {
        OutputFormat::Json => stated.effective_schema(),
        OutputFormat::Markdown | OutputFormat::Xml | OutputFormat::Text => {
            Some(Value::from_iter([("type", "string")]))
        }
    }
}
