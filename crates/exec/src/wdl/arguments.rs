//! The arguments of a workflow's steps as values: a text that spells a literal is that literal.

use stave_canon::{Object, Value};

use crate::expression::literal;

/// Arguments that are used as they are written.
const VERBATIM: [&str; 4] = ["code", "expression", "system", "template"];

/// The arguments with every literal in them read.
#[must_use]
pub fn typed_arguments(with: &Object) -> Object {
    with.iter()
        .map(|(name, value)| {
            let value = if VERBATIM.contains(&name.as_str()) { value.clone() } else { typed(value) };
            (name.clone(), value)
        })
        .collect()
}

fn typed(value: &Value) -> Value {
    match value {
        Value::String(text) => literal(text).unwrap_or_else(|| text.trim_end().into()),
        Value::Array(items) => Value::Array(items.iter().map(typed).collect()),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), typed(value))).collect())
        }
        other => other.clone(),
    }
}
