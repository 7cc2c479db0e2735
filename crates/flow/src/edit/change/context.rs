//! Context fields come and go.

use stave_canon::{Object, Value};

use super::{EditError, list_mut, root};

pub(super) fn add(flow: &mut Value, field: &str, optional: bool) -> Result<(), EditError> {
    let context = context_mut(flow)?;
    for list in ["requires", "optional"] {
        if has(context, list, field) {
            return Err(EditError::Exists { what: format!("a context field `{field}`") });
        }
    }
    list_mut(context, if optional { "optional" } else { "requires" })?.push(Value::from(field));
    Ok(())
}

pub(super) fn remove(flow: &mut Value, field: &str) -> Result<(), EditError> {
    let context = context_mut(flow)?;
    for list in ["requires", "optional"] {
        if has(context, list, field) {
            list_mut(context, list)?.retain(|item| item.as_str() != Some(field));
            return Ok(());
        }
    }
    let known: Vec<&str> = ["requires", "optional"]
        .iter()
        .filter_map(|list| context.get(*list).and_then(Value::as_array))
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    Err(EditError::unknown("context field", field, known))
}

fn has(context: &Object, list: &str, field: &str) -> bool {
    let items = context.get(list).and_then(Value::as_array).unwrap_or_default();
    items.iter().any(|item| item.as_str() == Some(field))
}

fn context_mut(flow: &mut Value) -> Result<&mut Object, EditError> {
    let context = root(flow)?.entry("context".to_owned()).or_default();
    if context.is_null() {
        *context = Value::Object(Object::new());
    }
    context.as_object_mut().ok_or_else(|| EditError::invalid("`context` is not a mapping"))
}
