//! Where a deployment takes fields of the context from.
//!
//! Invariant: a variable becomes context, which goes into prompts, replies and the journal, only when the project lists it
//! under `[context] env`. A flow that names another variable does not run.

use stave_canon::Value;
use stave_exec::Document;
use stave_script::allow_list::{Unlisted, variable_refusal};
use stave_server::ContextFieldSource;

use crate::project::Project;

/// The sources that a document names, or the variable that the project does not list.
pub(super) fn sources(
    project: &Project,
    document: &Document,
) -> Result<Vec<(String, ContextFieldSource)>, Unlisted> {
    let hints = document.metadata.extra.get("deployment").and_then(|hints| hints.get("context"));
    let fields = hints.and_then(Value::as_object).into_iter().flatten();
    let source = |source: &Value| {
        let text = |key: &str| source.get(key).and_then(Value::as_str);
        if let Some(name) = text("env") {
            return variable(project, name);
        }
        Ok(match (text("header"), source.get("value")) {
            (Some(name), _) => ContextFieldSource::Header(name.to_ascii_lowercase()),
            (None, Some(value)) => ContextFieldSource::Value(value.clone()),
            (None, None) => ContextFieldSource::Nothing,
        })
    };
    fields.map(|(field, hint)| Ok((field.clone(), source(hint)?))).collect()
}

fn variable(project: &Project, name: &str) -> Result<ContextFieldSource, Unlisted> {
    if let Some(unlisted) = variable_refusal(&project.settings.secrets.variables, name) {
        return Err(unlisted);
    }
    let value = project.secret(name).map(|value| value.expose().into());
    Ok(value.map_or(ContextFieldSource::Nothing, ContextFieldSource::Value))
}
