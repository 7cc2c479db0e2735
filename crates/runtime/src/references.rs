//! Fills the arguments of a workflow's steps. The engine decides what a reference is and what its value is.

use stave_canon::{Object, Value};
use stave_engine::CopyLimit;
use stave_engine::references::Reference;

use crate::Failure;
use crate::interpolate::{PathScope, fill_limit, overfilled};

/// Fills the author's own texts. In the place of a reference, its value is taken from `resolved`, the same
/// argument with its references replaced, and left as it is.
pub(crate) fn fill(
    written: &Value,
    resolved: Option<&Value>,
    scope: &PathScope<'_>,
) -> Result<Option<Value>, Failure> {
    fill_within(written, resolved, scope, &mut fill_limit())
}

fn fill_within(
    written: &Value,
    resolved: Option<&Value>,
    scope: &PathScope<'_>,
    room: &mut CopyLimit,
) -> Result<Option<Value>, Failure> {
    match (written, resolved) {
        (Value::String(text), resolved) if Reference::read(text).is_some() => {
            let resolved = resolved.unwrap_or(&Value::Null);
            room.take(resolved, overfilled)?;
            Ok(Some(resolved.clone()))
        }
        (Value::Array(items), Some(Value::Array(resolved))) => {
            let mut filled = Vec::with_capacity(items.len());
            for (item, resolved) in items.iter().zip(resolved) {
                filled.extend(fill_within(item, Some(resolved), scope, room)?);
            }
            Ok(Some(Value::Array(filled)))
        }
        (Value::Object(object), Some(Value::Object(resolved))) => {
            let mut filled = Object::with_capacity(object.len());
            for (key, member) in object {
                if let Some(member) = fill_within(member, resolved.get(key), scope, room)? {
                    filled.insert(key.clone(), member);
                }
            }
            Ok(Some(Value::Object(filled)))
        }
        (written, _) => scope.fill_within(written, room),
    }
}

#[cfg(test)]
mod tests {
    use stave_engine::references::resolve;
    use stave_exec::wdl::typed_arguments as typed;

    use super::*;

    #[test]
    fn a_value_from_outside_is_not_filled_in_again() {
        let lookup = |_: &Reference<'_>| Value::from("${secrets.KEY} $input.other 5");
        let with = stave_canon::parse(r#"{"a": "$input.x", "b": ["5", "'t'"], "code": "5"}"#).unwrap();
        let typed = Value::Object(typed(with.as_object().unwrap()));
        let resolved = resolve(&typed, &lookup);
        let (inputs, context) = (Object::new(), Object::new());
        let scope = PathScope { inputs: &inputs, context: &context, prompt_output: None, secrets: None };
        let filled = fill(&typed, Some(&resolved), &scope).unwrap().unwrap();
        assert_eq!(filled.get("a").and_then(Value::as_str), Some("${secrets.KEY} $input.other 5"));
    }
}
