//! Any field by its path, and bytes by their offset.

use stave_canon::{Object, Value};
use stave_diag::{Edit, SourceId, Span};

use super::super::matching::identity;
use super::{EditError, State};

/// Sets the value at a JSON Pointer. Mappings on the way are made; `-` appends to a list; an item of a list
/// may be named by its `name`.
pub(super) fn set(flow: &mut Value, path: &str, value: &Value) -> Result<(), EditError> {
    let steps = steps(path)?;
    let Some((last, way)) = steps.split_last() else {
        if value.as_object().is_none() {
            return Err(EditError::invalid("a flow is a mapping"));
        }
        *flow = value.clone();
        return Ok(());
    };
    let mut here = flow;
    for step in way {
        here = match here {
            Value::Array(items) => {
                let index = index_of(items, step).ok_or_else(|| nothing_at(path))?;
                items.get_mut(index).ok_or_else(|| nothing_at(path))?
            }
            Value::Object(object) => {
                let member = object.entry(step.clone()).or_default();
                if member.is_null() {
                    *member = Value::Object(Object::new());
                }
                member
            }
            other => {
                return Err(EditError::invalid(format!("`{step}` of `{path}` lies inside {}", other.kind())));
            }
        };
    }
    match here {
        Value::Array(items) if last == "-" => items.push(value.clone()),
        Value::Array(items) => {
            let index = index_of(items, last).ok_or_else(|| nothing_at(path))?;
            *items.get_mut(index).ok_or_else(|| nothing_at(path))? = value.clone();
        }
        Value::Object(object) => {
            object.insert(last.clone(), value.clone());
        }
        other => {
            return Err(EditError::invalid(format!("`{last}` of `{path}` lies inside {}", other.kind())));
        }
    }
    Ok(())
}

pub(super) fn unset(flow: &mut Value, path: &str) -> Result<(), EditError> {
    let steps = steps(path)?;
    let Some((last, way)) = steps.split_last() else {
        return Err(EditError::invalid("the whole flow cannot be removed"));
    };
    let mut here = flow;
    for step in way {
        here = match here {
            Value::Array(items) => index_of(items, step).and_then(|index| items.get_mut(index)),
            Value::Object(object) => object.get_mut(step),
            _ => None,
        }
        .ok_or_else(|| nothing_at(path))?;
    }
    let removed = match here {
        Value::Array(items) => {
            index_of(items, last).filter(|index| *index < items.len()).map(|index| items.remove(index))
        }
        Value::Object(object) => object.shift_remove(last),
        _ => None,
    };
    removed.map(|_| ()).ok_or_else(|| nothing_at(path))
}

/// Replaces bytes that must be what the command says they are.
pub(super) fn replace_text(
    state: &State,
    at: usize,
    remove: &str,
    insert: &str,
) -> Result<Vec<Edit>, EditError> {
    let end = at.checked_add(remove.len());
    if end.and_then(|end| state.text.get(at..end)) != Some(remove) {
        return Err(EditError::OtherText { at, expected: remove.to_owned() });
    }
    let span = Span::new(SourceId(0), at, at + remove.len());
    Ok(vec![Edit { span, replacement: insert.to_owned() }])
}

fn steps(path: &str) -> Result<Vec<String>, EditError> {
    if path.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = path.strip_prefix('/') else {
        return Err(EditError::invalid(format!(
            "the path `{path}` must begin with `/`, as in `/nodes/fetch/runtime`"
        )));
    };
    Ok(rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

fn index_of(items: &[Value], step: &str) -> Option<usize> {
    step.parse::<usize>()
        .ok()
        .or_else(|| items.iter().position(|item| identity(item).as_deref() == Some(step)))
}

fn nothing_at(path: &str) -> EditError {
    EditError::Unknown { what: format!("value at `{path}`"), help: None }
}
