//! JSON stays JSON: the same order of keys, indented by two.

use stave_canon::{Object, Value};

use super::FormatOptions;
use super::arrange::Known;
use crate::shape::FLOW;

pub(super) fn format(value: Value, options: FormatOptions) -> String {
    let mut text =
        stave_canon::pretty_insertion_utf8(&arranged(meaning(value, options), Known::Shape(&FLOW)));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The value without the ids that formatting takes out.
pub(super) fn meaning(mut value: Value, options: FormatOptions) -> Value {
    if !options.drops_ids {
        return value;
    }
    if let Some(Value::Object(nodes)) = value.as_object_mut().and_then(|flow| flow.get_mut("nodes")) {
        for (id, node) in nodes.iter_mut() {
            if let Some(node) = node.as_object_mut()
                && node.len() > 1
                && node.get("id").and_then(Value::as_str) == Some(id)
            {
                node.shift_remove("id");
            }
        }
    }
    value
}

fn arranged(value: Value, known: Known) -> Value {
    match value {
        Value::Object(object) => {
            let mut members: Vec<(String, Value)> = object.into_iter().collect();
            if let Known::Shape(shape) = known {
                members.sort_by_key(|(key, _)| shape.rank(key));
            }
            let arranged = members.into_iter().map(|(key, value)| {
                let value = arranged(value, known.member(Some(&key)));
                (key, value)
            });
            Value::Object(arranged.collect::<Object>())
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| arranged(item, known.member(None))).collect())
        }
        other => other,
    }
}
