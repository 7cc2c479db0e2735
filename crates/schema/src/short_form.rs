//! Output requirements as JSON Schema: the short form of the specification's example, or the real thing.
//!
//! Short form: `{"design": "string", "parts": ["string"], "note": "string?"}`. A word names a type, a list
//! of one thing means many of it, an object nests, `?` makes a field optional, `a|b` lists words. A text
//! that is no type describes a field that may hold anything.

use stave_canon::{Object, Value};

use crate::slips::Nearest;

/// Short names of types.
const ABBREVIATIONS: [(&str, &str); 7] = [
    ("str", "string"),
    ("text", "string"),
    ("int", "integer"),
    ("float", "number"),
    ("bool", "boolean"),
    ("list", "array"),
    ("dict", "object"),
];

/// The words of which a text may be a slip. Words of three letters, and `text`, are too near to other words.
const LONG_WORDS: [&str; 11] =
    ["string", "number", "integer", "boolean", "object", "array", "null", "float", "bool", "list", "dict"];

pub(crate) const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Words that only a JSON Schema has as keys.
const KEYWORDS: [&str; 38] = [
    "$schema",
    "$id",
    "$ref",
    "$defs",
    "$comment",
    "definitions",
    "type",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "enum",
    "const",
    "title",
    "description",
    "default",
    "examples",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

/// The JSON Schema of output requirements.
#[must_use]
pub fn json_schema(requirements: &Value) -> Value {
    match requirements {
        Value::Object(object) if !is_json_schema(object) => short_object(object),
        other => other.clone(),
    }
}

/// Whether an object is a JSON Schema rather than the short form: all its keys are keywords, and at least
/// one of them says what a value is.
pub(crate) fn is_json_schema(object: &Object) -> bool {
    let says = |key: &str| object.contains_key(key);
    let is_type = |value: &Value| match value {
        Value::String(word) => TYPES.contains(&word.as_str()),
        Value::Array(words) => {
            words.iter().all(|word| word.as_str().is_some_and(|word| TYPES.contains(&word)))
        }
        _ => false,
    };
    let all_keywords = object.keys().all(|key| KEYWORDS.contains(&key.as_str()));
    let structural = ["properties", "anyOf", "oneOf", "allOf", "$ref", "$schema", "enum", "const"];
    let nested =
        |key: &&str| object.get(*key).is_some_and(|value| value.as_str().is_none() || key.starts_with('$'));
    says("$schema")
        || (all_keywords
            && (object.get("type").is_some_and(is_type)
                || structural.iter().any(|key| says(key) && nested(key))))
}

fn short_object(object: &Object) -> Value {
    let mut properties = Object::new();
    let mut required = Vec::new();
    for (key, value) in object {
        let optional_word = value.as_str().and_then(|word| word.strip_suffix('?'));
        let optional_key = key.strip_suffix('?');
        let name = optional_key.unwrap_or(key);
        let schema = match optional_word {
            Some(word) => short(&word.into()),
            None => short(value),
        };
        if optional_word.is_none() && optional_key.is_none() {
            required.push(name.to_owned());
        }
        properties.insert(name.to_owned(), schema);
    }
    Value::from_iter([
        ("type", Value::from("object")),
        ("properties", properties.into()),
        ("required", required.into()),
    ])
}

fn short(value: &Value) -> Value {
    match value {
        Value::String(word) => short_word(word),
        Value::Array(items) => {
            let items = match items.as_slice() {
                [] => Value::Bool(true),
                [item] => short(item),
                several => Value::from_iter([("anyOf", Value::Array(several.iter().map(short).collect()))]),
            };
            Value::from_iter([("type", Value::from("array")), ("items", items)])
        }
        Value::Object(object) if is_json_schema(object) => value.clone(),
        Value::Object(object) => short_object(object),
        // A value means itself.
        other => Value::from_iter([("const", other.clone())]),
    }
}

/// Whether a word names a type, and is no description.
pub(crate) fn is_type_word(word: &str) -> bool {
    let word = word.strip_suffix('?').unwrap_or(word);
    word == "any" || TYPES.contains(&word) || ABBREVIATIONS.iter().any(|(short, _)| *short == word)
}

/// The type that a text of the short form most likely means and does not say. A description of several words means none.
pub(crate) fn meant_type(text: &str, nearest: Nearest<'_>) -> Option<&'static str> {
    let text = text.strip_suffix('?').unwrap_or(text);
    let meant = |word: &str| {
        let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        if is_word && !is_type_word(word) { nearest(word, &LONG_WORDS) } else { None }
    };
    if !text.contains('|') {
        return meant(text);
    }
    // Alternatives are types when one of them is; else they are the values themselves.
    if text.split('|').any(|word| TYPES.contains(&word)) { text.split('|').find_map(meant) } else { None }
}

fn short_word(word: &str) -> Value {
    let of_type = |name: &str| Value::from_iter([("type", name)]);
    if let Some((_, name)) = ABBREVIATIONS.iter().find(|(short, _)| *short == word) {
        return of_type(name);
    }
    match word {
        "any" | "" => Value::Bool(true),
        word if TYPES.contains(&word) => of_type(word),
        word if word.contains('|') && !word.contains(' ') => {
            let words: Vec<&str> = word.split('|').collect();
            if words.iter().all(|word| TYPES.contains(word)) {
                Value::from_iter([("type", Value::from(words))])
            } else {
                Value::from_iter([("enum", Value::from(words))])
            }
        }
        description => Value::from_iter([("description", description)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> String {
        json_schema(&stave_canon::parse(text).unwrap()).to_string()
    }

    #[test]
    fn the_short_form_becomes_a_schema_and_a_schema_stays() {
        assert_eq!(
            schema(r#"{"design": "string", "parts": ["string"], "note": "string?", "level": "low|high"}"#),
            r#"{"type":"object","properties":{"design":{"type":"string"},"parts":{"type":"array","items":{"type":"string"}},"note":{"type":"string"},"level":{"enum":["low","high"]}},"required":["design","parts","level"]}"#
        );
        assert_eq!(
            schema(r#"{"nested": {"type": "string", "name": "string"}, "free": "what you think"}"#),
            r#"{"type":"object","properties":{"nested":{"type":"object","properties":{"type":{"type":"string"},"name":{"type":"string"}},"required":["type","name"]},"free":{"description":"what you think"}},"required":["nested","free"]}"#
        );
        for same in [
            r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#,
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","x":1}"#,
            r#"{"anyOf":[{"type":"string"}]}"#,
            r#"{"type":["string","null"]}"#,
        ] {
            assert_eq!(schema(same), same);
        }
        assert!(
            schema(r#"{"title": "string", "description": "string"}"#)
                .contains(r#""required":["title","description"]"#)
        );
    }
}
