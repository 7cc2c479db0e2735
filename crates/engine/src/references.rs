//! The arguments of a workflow's steps: `$input.path` and `$step.id.path` stand for values when they are the
//! whole text; any other text is itself, or the literal that it spells.
//!
//! Invariant: a value that came from outside is never read again. It is neither a reference nor a literal
//! nor a template, whatever text it holds.

use stave_canon::Value;

/// The spellings of a reference: the language's own, and those of a compiled `switch`.
const INPUT: [&str; 2] = ["$input", "$.inputs"];
const STEP: [&str; 2] = ["$step", "$.vars"];

/// The error of a failed step, as a later step can name it.
pub const ERROR: &str = "error";

/// What a text refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference<'t> {
    /// A path into the request.
    Input(Vec<&'t str>),
    /// A path whose beginning is the id of a step; an id may have dots of its own.
    Step(Vec<&'t str>),
}

impl<'t> Reference<'t> {
    /// Reads a text that is one whole reference.
    pub fn read(text: &'t str) -> Option<Reference<'t>> {
        let text = text.trim();
        if !text.starts_with('$') {
            return None;
        }
        let path = |prefixes: [&str; 2]| {
            let rest = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix))?;
            if rest.is_empty() {
                return Some(Vec::new());
            }
            Some(rest.strip_prefix('.')?.split('.').collect())
        };
        path(INPUT).map(Reference::Input).or_else(|| path(STEP).map(Reference::Step))
    }
}

/// Splits the path of a step's reference where the id ends. `is_step` knows the ids.
pub fn split_step<'p, 't>(
    path: &'p [&'t str],
    is_step: impl Fn(&str) -> bool,
) -> Option<(String, &'p [&'t str])> {
    let mut id = String::new();
    for (index, part) in path.iter().enumerate() {
        if index > 0 {
            id.push('.');
        }
        id.push_str(part);
        if is_step(&id) {
            return Some((id, path.get(index + 1..).unwrap_or_default()));
        }
    }
    None
}

/// Calls `found` with the path of every reference to a step.
pub fn each_step(value: &Value, found: &mut dyn FnMut(&[&str])) {
    match value {
        Value::String(text) => {
            if let Some(Reference::Step(path)) = Reference::read(text) {
                found(&path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_step(item, found)),
        Value::Object(object) => object.values().for_each(|member| each_step(member, found)),
        _ => {}
    }
}

/// A value with its references replaced. What does not exist is null.
pub fn resolve(value: &Value, lookup: &dyn Fn(&Reference<'_>) -> Value) -> Value {
    match value {
        Value::String(text) => Reference::read(text).map_or_else(|| value.clone(), |found| lookup(&found)),
        Value::Array(items) => Value::Array(items.iter().map(|item| resolve(item, lookup)).collect()),
        Value::Object(object) => {
            let members = object.iter().map(|(key, value)| (key.clone(), resolve(value, lookup)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// The value at a path: members of objects by name, items of lists by number.
pub fn follow<'v>(mut here: &'v Value, path: &[&str]) -> Option<&'v Value> {
    for part in path {
        here = match here {
            Value::Object(object) => object.get(*part)?,
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_text_is_a_reference() {
        for (text, wanted) in [
            ("$input.a.b", Some(Reference::Input(vec!["a", "b"]))),
            (" $input.a ", Some(Reference::Input(vec!["a"]))),
            ("$input", Some(Reference::Input(vec![]))),
            ("$.inputs.a", Some(Reference::Input(vec!["a"]))),
            ("$step.read.x", Some(Reference::Step(vec!["read", "x"]))),
            ("$.vars.read", Some(Reference::Step(vec!["read"]))),
            ("$inputs.a", None),
            ("$steps", None),
            ("see $input.a", None),
            ("${input.a}", None),
            ("", None),
        ] {
            assert_eq!(Reference::read(text), wanted, "{text}");
        }
    }

    #[test]
    fn an_id_may_have_dots() {
        let known = |id: &str| ["a.b", "c"].contains(&id);
        assert_eq!(split_step(&["a", "b", "x"], known), Some(("a.b".to_owned(), ["x"].as_slice())));
        assert_eq!(split_step(&["c"], known), Some(("c".to_owned(), [].as_slice())));
        assert_eq!(split_step(&["d", "c"], known), None);
    }

    #[test]
    fn a_value_from_outside_is_not_read_again() {
        let lookup = |_: &Reference<'_>| Value::from("${secrets.KEY} $input.other 5");
        let with = stave_canon::parse(r#"{"a": "$input.x", "b": ["5", "'t'"], "code": "5"}"#).unwrap();
        let typed = Value::Object(stave_exec::wdl::typed_arguments(with.as_object().unwrap()));
        assert_eq!(typed.to_string(), r#"{"a":"$input.x","b":[5,"t"],"code":"5"}"#);
        let resolved = resolve(&typed, &lookup);
        assert_eq!(resolved.get("a").and_then(Value::as_str), Some("${secrets.KEY} $input.other 5"));
    }
}
