//! Every value that one schema allows is allowed by another.
//!
//! The proof is partial: where it cannot be made, the first reason is given. It never proves what is not
//! so.

use std::cmp::Ordering;

use stave_canon::Value;

/// Words that say nothing about values.
const SILENT: [&str; 9] =
    ["title", "description", "$schema", "$id", "$comment", "default", "examples", "definitions", "readOnly"];
/// How deep schemas are compared.
const DEEPEST: usize = 24;

/// Why a value that `from` allows might not be allowed by `to`; `None` when every one is.
pub(super) fn doubt(from: &Value, to: &Value) -> Option<String> {
    compare(from, to, "the value", 0)
}

fn compare(from: &Value, to: &Value, what: &str, depth: usize) -> Option<String> {
    if from == to || *to == Value::Bool(true) || *from == Value::Bool(false) {
        return None;
    }
    if depth > DEEPEST {
        return Some(format!("{what} is nested too deep to compare"));
    }
    let Some(wanted) = to.as_object() else { return Some(format!("{what} is refused")) };
    for (keyword, bound) in wanted {
        let word = keyword.as_str();
        if SILENT.contains(&word) || from.get(word) == Some(bound) {
            continue;
        }
        let reason = match word {
            "type" => types(from, to, what),
            "properties" => properties(from, to, what, depth),
            "required" => required(from, bound, what),
            "items" => items(from, bound, what, depth),
            "enum" => listed(from, bound, what),
            "const" => listed(from, &Value::Array(vec![bound.clone()]), what),
            "minimum" | "minLength" | "minItems" | "minProperties" => {
                bounded(from, word, bound, Ordering::Less, what)
            }
            "maximum" | "maxLength" | "maxItems" | "maxProperties" => {
                bounded(from, word, bound, Ordering::Greater, what)
            }
            "additionalProperties" => additional(from, to, bound, what, depth),
            other => Some(format!("`{other}` of {what} is not said where it leaves")),
        };
        // What a keyword bounds does not matter to values of other types.
        if reason.is_some() && applies(word, from) {
            return reason;
        }
    }
    None
}

/// Whether values of the schema can be of the type that a keyword is about.
fn applies(keyword: &str, from: &Value) -> bool {
    let about: &[&str] = match keyword {
        "properties" | "required" | "additionalProperties" | "minProperties" | "maxProperties" => &["object"],
        "items" | "minItems" | "maxItems" => &["array"],
        "minimum" | "maximum" => &["number", "integer"],
        "minLength" | "maxLength" | "pattern" | "format" => &["string"],
        _ => return true,
    };
    words(from).is_none_or(|words| words.iter().any(|word| about.contains(word)))
}

fn words(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(word) => Some(vec![word]),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn types(from: &Value, to: &Value, what: &str) -> Option<String> {
    let wanted = words(to)?;
    let given = match words(from) {
        Some(given) => given,
        // The words of a list have types of their own.
        None if from.get("enum").is_some() || from.get("const").is_some() => return None,
        None => return Some(format!("{what} may be of any type there")),
    };
    let fits = |word: &&str| wanted.contains(word) || (*word == "integer" && wanted.contains(&"number"));
    let odd = given.iter().find(|word| !fits(word))?;
    Some(format!("{what} may be of type {odd}"))
}

fn properties(from: &Value, to: &Value, what: &str, depth: usize) -> Option<String> {
    let wanted = to.get("properties").and_then(Value::as_object)?;
    wanted.iter().find_map(|(name, schema)| {
        let what = if depth == 0 { format!("`{name}`") } else { format!("`{name}` of {what}") };
        match property(from, name) {
            Some(given) => compare(given, schema, &what, depth + 1),
            None if closed(from) || allows_everything(schema) => None,
            None => Some(format!("{what} is not described where it leaves")),
        }
    })
}

fn property<'schema>(schema: &'schema Value, name: &str) -> Option<&'schema Value> {
    schema.get("properties").and_then(|properties| properties.get(name))
}

fn closed(schema: &Value) -> bool {
    schema.get("additionalProperties") == Some(&Value::Bool(false))
}

fn allows_everything(schema: &Value) -> bool {
    *schema == Value::Bool(true)
        || schema.as_object().is_some_and(|object| object.keys().all(|key| SILENT.contains(&key.as_str())))
}

fn required(from: &Value, bound: &Value, what: &str) -> Option<String> {
    let given = from.get("required").and_then(Value::as_array).unwrap_or_default();
    let lacking = bound.as_array()?.iter().find(|name| !given.contains(name))?;
    let name = lacking.as_str().unwrap_or_default();
    Some(format!("`{name}` of {what} may be absent"))
}

fn items(from: &Value, bound: &Value, what: &str, depth: usize) -> Option<String> {
    match from.get("items") {
        Some(given) if given.as_array().is_none() && bound.as_array().is_none() => {
            compare(given, bound, &format!("an item of {what}"), depth + 1)
        }
        None if allows_everything(bound) => None,
        _ => Some(format!("the items of {what} are not described where they leave")),
    }
}

fn listed(from: &Value, bound: &Value, what: &str) -> Option<String> {
    let allowed = bound.as_array()?;
    let given = match (from.get("enum").and_then(Value::as_array), from.get("const")) {
        (Some(given), _) => given.to_vec(),
        (None, Some(only)) => vec![only.clone()],
        (None, None) => return Some(format!("{what} may be something that is not listed")),
    };
    let odd = given.iter().find(|value| !allowed.contains(value))?;
    Some(format!("{what} may be {odd}, which is not listed"))
}

fn bounded(from: &Value, keyword: &str, bound: &Value, worse: Ordering, what: &str) -> Option<String> {
    let given = from.get(keyword).and_then(Value::as_number);
    let beyond = match (given, bound.as_number()) {
        (Some(given), Some(bound)) => given.compare(bound) == Some(worse),
        _ => true,
    };
    beyond.then(|| format!("{what} may be outside `{keyword}: {bound}`"))
}

fn additional(from: &Value, to: &Value, bound: &Value, what: &str, depth: usize) -> Option<String> {
    let given = from.get("properties").and_then(Value::as_object);
    let extra = given.into_iter().flatten().filter(|(name, _)| property(to, name).is_none());
    for (name, schema) in extra {
        let name = format!("`{name}` of {what}");
        if *bound == Value::Bool(false) {
            return Some(format!("{name} may be there"));
        }
        if let Some(reason) = compare(schema, bound, &name, depth + 1) {
            return Some(reason);
        }
    }
    if closed(from) || allows_everything(bound) {
        return None;
    }
    match from.get("additionalProperties") {
        Some(given) => compare(given, bound, &format!("a further key of {what}"), depth + 1),
        None => Some(format!("{what} may have further keys")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proven(from: &str, to: &str) -> bool {
        doubt(&stave_canon::parse(from).unwrap(), &stave_canon::parse(to).unwrap()).is_none()
    }

    #[test]
    fn what_is_narrower_is_proven() {
        let table = [
            (r#"{"type":"integer"}"#, r#"{"type":"number"}"#),
            (r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#),
            (r#"{"type":"number","minimum":1,"maximum":2}"#, r#"{"type":"number","minimum":0}"#),
            (r#"{"enum":["a"]}"#, r#"{"enum":["a","b"]}"#),
            (r#"{"const":"a"}"#, r#"{"enum":["a","b"]}"#),
            (r#"{"type":"string"}"#, r#"{"minimum":3,"type":"string"}"#),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"},"b":{}},"required":["a"]}"#,
                r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#,
            ),
            (
                r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#,
                r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#,
            ),
            (
                r#"{"type":"array","items":{"type":"integer"},"minItems":2}"#,
                r#"{"type":"array","items":{"type":"number"}}"#,
            ),
            (r#"{"pattern":"^a"}"#, r#"{"pattern":"^a"}"#),
        ];
        for (from, to) in table {
            assert!(proven(from, to), "{from} {to}");
        }
    }

    #[test]
    fn what_may_be_wider_is_doubted() {
        let table = [
            (r#"{"type":"number"}"#, r#"{"type":"integer"}"#),
            (r#"{}"#, r#"{"type":"integer"}"#),
            (r#"{"type":"number"}"#, r#"{"type":"number","minimum":0}"#),
            (r#"{"enum":["a","c"]}"#, r#"{"enum":["a","b"]}"#),
            (r#"{"type":"string"}"#, r#"{"type":"string","pattern":"^a"}"#),
            (r#"{"type":"object","properties":{"a":{}}}"#, r#"{"type":"object","required":["a"]}"#),
            (
                r#"{"type":"object","properties":{"a":{},"b":{}}}"#,
                r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#,
            ),
            (r#"{"type":"array"}"#, r#"{"type":"array","items":{"type":"number"}}"#),
            (r#"{"type":"object"}"#, r#"{"anyOf":[{"type":"object"}]}"#),
        ];
        for (from, to) in table {
            assert!(!proven(from, to), "{from} {to}");
        }
    }
}
