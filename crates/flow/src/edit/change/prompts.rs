//! What a model is asked, and with which tools.

use stave_canon::{Object, Value};

use super::{EditError, list_mut, name_of, node_mut};
use crate::edit::FlowEdit;

pub(super) fn set(flow: &mut Value, command: &FlowEdit) -> Result<(), EditError> {
    let FlowEdit::SetPrompt {
        node,
        system,
        append_to_system,
        template,
        model,
        temperature,
        max_tokens,
        output_schema,
    } = command
    else {
        return Ok(());
    };
    let owner = node_mut(flow, node)?;
    let prompt = owner.entry("prompt".to_owned()).or_default();
    if prompt.is_null() {
        *prompt = Value::Object(Object::new());
    }
    let Some(prompt) = prompt.as_object_mut() else {
        return Err(EditError::invalid(format!("`prompt` of node `{node}` is not a mapping")));
    };
    let appended = append_to_system.as_ref().map(|addition| {
        let old = prompt.get("system").and_then(Value::as_str).unwrap_or_default();
        let base = system.as_deref().unwrap_or(old);
        appended(base, addition)
    });
    let fields = [
        ("system", appended.or_else(|| system.clone()).map(Value::from)),
        ("template", template.clone().map(Value::from)),
        ("model", model.clone()),
        ("temperature", temperature.clone()),
        ("max_tokens", max_tokens.map(Value::from)),
        ("output_schema", output_schema.clone()),
    ];
    for (name, value) in fields {
        let Some(value) = value else { continue };
        if name == "system" && !prompt.contains_key("system") {
            prompt.shift_insert(0, name.to_owned(), value);
        } else {
            prompt.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

/// A text with a sentence added: as a line of its own when the text has lines.
fn appended(base: &str, addition: &str) -> String {
    if base.trim().is_empty() {
        return addition.to_owned();
    }
    match base.strip_suffix('\n') {
        Some(body) => format!("{body}\n{addition}\n"),
        None if base.contains('\n') => format!("{base}\n{addition}"),
        None => format!("{base} {addition}"),
    }
}

pub(super) fn add_tool(flow: &mut Value, node: &str, tool: &Value) -> Result<(), EditError> {
    let Some(name) = name_of(tool) else {
        return Err(EditError::invalid(
            "a tool is a mapping with a `name`, a `description` and `parameters`",
        ));
    };
    let tools = tools_mut(flow, node)?;
    if tools.iter().any(|tool| name_of(tool) == Some(name)) {
        return Err(EditError::Exists { what: format!("a tool `{name}` of node `{node}`") });
    }
    tools.push(tool.clone());
    Ok(())
}

pub(super) fn remove_tool(flow: &mut Value, node: &str, name: &str) -> Result<(), EditError> {
    let tools = tools_mut(flow, node)?;
    let Some(index) = tools.iter().position(|tool| name_of(tool) == Some(name)) else {
        return Err(EditError::unknown("tool", name, tools.iter().filter_map(name_of)));
    };
    tools.remove(index);
    if tools.is_empty()
        && let Some(prompt) = node_mut(flow, node)?.get_mut("prompt").and_then(Value::as_object_mut)
    {
        prompt.shift_remove("tools");
    }
    Ok(())
}

fn tools_mut<'flow>(flow: &'flow mut Value, node: &str) -> Result<&'flow mut Vec<Value>, EditError> {
    let owner = node_mut(flow, node)?;
    match owner.get_mut("prompt").and_then(Value::as_object_mut) {
        Some(prompt) => list_mut(prompt, "tools"),
        None => Err(EditError::invalid(format!("node `{node}` has no `prompt`, so it has no tools"))),
    }
}
