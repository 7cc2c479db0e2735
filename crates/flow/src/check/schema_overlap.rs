//! Some value satisfies the schemas at both ends of an edge.
//!
//! The comparison is partial: it says "disjoint" only where that is certain, and nothing otherwise.

use stave_canon::{Object, Value};
use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::answer_schema::{AnswerSchema, answer_schema};
use super::schema_proof::doubt;
use super::schemas::JSON_TYPES;
use super::subject::Subject;
use crate::model::{Port, PortType};
use crate::yaml::Tree;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    answers(subject, diagnostics);
    for connected in &subject.edges {
        if !connected.edge.transform.is_absent() {
            continue;
        }
        let (Some(from), Some(to), Some(end)) =
            (connected.origin.port(), connected.destination.port(), &connected.edge.to)
        else {
            continue;
        };
        let (Some(from_schema), Some(to_schema)) = (&from.schema, &to.schema) else { continue };
        let same_type =
            from.port_type.map(|port_type| port_type.value) == to.port_type.map(|port_type| port_type.value);
        if !same_type {
            continue;
        }
        let Some(port_type) = from.port_type.map(|port_type| port_type.value) else { continue };
        let typed = |schema: &Tree| with_type(&schema.to_value(), port_type);
        if let Some(why) = disjoint(&typed(from_schema), &typed(to_schema), "the value") {
            let message = format!("no value fits the schemas of `{}` and `{end}`: {why}", from.name.as_str());
            diagnostics.push(
                Diagnostic::new(codes::DISJOINT_SCHEMAS, end.span, message)
                    .label(from_schema.span, "what leaves")
                    .label(to_schema.span, "what is taken")
                    .help("make one schema allow what the other does"),
            );
        } else if let Some(reason) = doubt(&from_schema.to_value(), &to_schema.to_value()) {
            let message = format!("what `{}` gives may not fit `{end}`: {reason}", from.name.as_str());
            diagnostics.push(
                Diagnostic::new(codes::UNPROVEN_SCHEMA, end.span, message)
                    .label(from_schema.span, "what leaves")
                    .label(to_schema.span, "what is taken")
                    .help("say more where it leaves, or ask for less where it is taken"),
            );
        }
    }
}

/// Without a transform the model's answer is the only output, so both schemas judge the same value.
fn answers(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes().filter(|node| node.transform.is_absent()) {
        let answer = node.prompt.as_ref().and_then(|prompt| answer_schema(prompt, subject.options));
        let ([port], Some(answer)) = (&*node.outputs, answer) else { continue };
        let Some(schema) = &port.schema else {
            diagnostics.extend(wrong_kind(port, &answer));
            continue;
        };
        if let Some(why) = disjoint(&answer.schema, &schema.to_value(), "the value") {
            let message = format!(
                "no answer fits both `{}` and the schema of `{}`: {why}",
                answer.field,
                port.name.as_str()
            );
            diagnostics.push(
                Diagnostic::new(codes::DISJOINT_SCHEMAS, schema.span, message)
                    .label(answer.span, "what the model must answer")
                    .help("make one schema allow what the other does"),
            );
        }
    }
}

/// An answer that the port's type does not take at all.
fn wrong_kind(port: &Port, answer: &AnswerSchema) -> Option<Diagnostic> {
    let port_type = port.port_type?;
    let taken = with_type(&Value::Object(Object::new()), port_type.value);
    // A number or a boolean is printed on its way into a text.
    let printed = port_type.json_type() == "string"
        && types(&answer.schema)
            .is_some_and(|words| words.iter().any(|word| *word != "object" && *word != "array"));
    let why = disjoint(&answer.schema, &taken, "the answer").filter(|_| !printed)?;
    let message =
        format!("no answer fits both `{}` and the type of `{}`: {why}", answer.field, port.name.as_str());
    Some(
        Diagnostic::new(codes::DISJOINT_SCHEMAS, port_type.span, message)
            .label(answer.span, "what the model must answer")
            .help(format!(
                "give the port the type of the answer, or write `type: {}` in the schema",
                port_type.json_type()
            )),
    )
}

/// Why no value satisfies both schemas, when that is certain.
pub(super) fn disjoint(left: &Value, right: &Value, what: &str) -> Option<String> {
    if let Some(why) = listed_apart(left, right, what).or_else(|| listed_apart(right, left, what)) {
        return Some(why);
    }
    let (left_types, right_types) = (types(left)?, types(right)?);
    let shared: Vec<&str> = left_types
        .iter()
        .flat_map(|left| right_types.iter().filter_map(move |right| meet(left, right)))
        .collect();
    if shared.is_empty() {
        return Some(format!(
            "{what} is {} there and {} here",
            left_types.join(" or "),
            right_types.join(" or ")
        ));
    }
    let only = |word: &str| shared.iter().all(|shared| *shared == word);
    if only("array") {
        if bounds(left, right, "minItems", "maxItems") {
            return Some(format!("{what} has another number of items on each side"));
        }
        let some =
            |schema: &Value| schema.get("minItems").and_then(Value::as_f64).is_some_and(|least| least >= 1.0);
        let items = (left.get("items")?, right.get("items")?);
        return (some(left) || some(right))
            .then(|| disjoint(items.0, items.1, &format!("an item of {what}")))?;
    }
    if only("number") || only("integer") {
        return bounds(left, right, "minimum", "maximum")
            .then(|| format!("{what} lies in another range on each side"));
    }
    if only("string") {
        return bounds(left, right, "minLength", "maxLength")
            .then(|| format!("{what} has another length on each side"));
    }
    if !only("object") {
        return None;
    }
    forbidden(left, right).or_else(|| forbidden(right, left)).or_else(|| {
        let properties = left.get("properties").and_then(Value::as_object)?;
        properties.iter().find_map(|(name, schema)| {
            let other = right.get("properties").and_then(|properties| properties.get(name))?;
            // A property that both sides may leave out can be left out.
            let needed = requires(left, name) || requires(right, name);
            if needed { disjoint(schema, other, &format!("`{name}`")) } else { None }
        })
    })
}

/// The values that a schema lists, when it does.
fn listed(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// One side lists its values, and none of them is of a type or in the list of the other side.
fn listed_apart(left: &Value, right: &Value, what: &str) -> Option<String> {
    let values = listed(left)?;
    if let Some(others) = listed(right) {
        let apart = !values.iter().any(|value| others.iter().any(|other| same(value, other)));
        return apart.then(|| format!("{what} is listed on both sides, and the lists share nothing"));
    }
    let words = types(right)?;
    let apart = !values.iter().any(|value| words.iter().any(|word| is_of(value, word)));
    apart.then(|| format!("{what} is listed on one side, and nothing in the list is {}", words.join(" or ")))
}

fn same(one: &Value, other: &Value) -> bool {
    match (one.as_number(), other.as_number()) {
        (Some(one), Some(other)) => one.compare(other) == Some(std::cmp::Ordering::Equal),
        _ => one == other,
    }
}

/// Whether a value is of a JSON Schema type.
pub(super) fn is_of(value: &Value, word: &str) -> bool {
    match value {
        Value::Null => word == "null",
        Value::Bool(_) => word == "boolean",
        Value::Number(number) => {
            word == "number" || (word == "integer" && (number.is_integer() || number.as_f64().fract() == 0.0))
        }
        Value::String(_) => word == "string",
        Value::Array(_) => word == "array",
        Value::Object(_) => word == "object",
    }
}

/// A property that one side requires and the other does not allow.
fn forbidden(needs: &Value, closed: &Value) -> Option<String> {
    let is_closed = closed.get("additionalProperties") == Some(&Value::Bool(false))
        && closed.get("patternProperties").is_none();
    let required = needs.get("required").and_then(Value::as_array).filter(|_| is_closed)?;
    let known = closed.get("properties").and_then(Value::as_object);
    let mut names = required.iter().filter_map(Value::as_str);
    let name = names.find(|name| !known.is_some_and(|known| known.contains_key(*name)))?;
    Some(format!("`{name}` is required on one side and not allowed on the other"))
}

/// A schema with the type of its port, when it says nothing about the type itself.
pub(super) fn with_type(schema: &Value, port_type: PortType) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(object) = &mut schema
        && !object.contains_key("type")
    {
        object.insert("type".to_owned(), Value::from(port_type.json_type()));
    }
    schema
}

/// The words of `type`; `None` when the schema does not restrict it, or names a type that JSON does not
/// have, which is reported as such.
fn types(schema: &Value) -> Option<Vec<&str>> {
    let words = match schema.get("type")? {
        Value::String(word) => vec![word.as_str()],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    words.iter().all(|word| JSON_TYPES.contains(word)).then_some(words)
}

fn meet<'word>(left: &'word str, right: &'word str) -> Option<&'word str> {
    match (left, right) {
        (left, right) if left == right => Some(left),
        ("integer", "number") | ("number", "integer") => Some("integer"),
        _ => None,
    }
}

fn bounds(left: &Value, right: &Value, least: &str, greatest: &str) -> bool {
    let above = |one: &Value, other: &Value| {
        let pair =
            (one.get(least).and_then(Value::as_number), other.get(greatest).and_then(Value::as_number));
        matches!(pair, (Some(least), Some(greatest)) if least.compare(greatest) == Some(std::cmp::Ordering::Greater))
    };
    above(left, right) || above(right, left)
}

fn requires(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    required.iter().any(|required| required.as_str() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(left: &str, right: &str) -> bool {
        disjoint(&stave_canon::parse(left).unwrap(), &stave_canon::parse(right).unwrap(), "the value")
            .is_some()
    }

    #[test]
    fn only_what_is_certainly_disjoint_is_reported() {
        let table = [
            (r#"{"type":"object"}"#, r#"{"type":"object"}"#, false),
            (r#"{"type":"string"}"#, r#"{"type":"number"}"#, true),
            (r#"{"type":"integer"}"#, r#"{"type":"number"}"#, false),
            (r#"{}"#, r#"{"type":"number"}"#, false),
            (r#"{"type":["string","null"]}"#, r#"{"type":["null"]}"#, false),
            (
                r#"{"type":"array","minItems":8,"maxItems":8}"#,
                r#"{"type":"array","minItems":4,"maxItems":4}"#,
                true,
            ),
            (r#"{"type":"string","enum":["a"]}"#, r#"{"type":"string","enum":["b","c"]}"#, true),
            (r#"{"enum":["a","b"]}"#, r#"{"enum":["b","c"]}"#, false),
            (r#"{"const":1}"#, r#"{"const":1.0}"#, false),
            (r#"{"const":1}"#, r#"{"type":"string"}"#, true),
            (
                r#"{"type":"object","required":["a"]}"#,
                r#"{"type":"object","properties":{"b":{}},"additionalProperties":false}"#,
                true,
            ),
            (
                r#"{"type":"array","items":{"type":"string"},"minItems":1}"#,
                r#"{"type":"array","items":{"type":"number"}}"#,
                true,
            ),
            (
                r#"{"type":"array","items":{"type":"string"}}"#,
                r#"{"type":"array","items":{"type":"number"}}"#,
                false,
            ),
            (r#"{"type":"number","minimum":2}"#, r#"{"type":"number","maximum":2}"#, false),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
                r#"{"type":"object","properties":{"a":{"type":"number"}}}"#,
                false,
            ),
            (
                r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#,
                r#"{"type":"object","properties":{"a":{"type":"number"}}}"#,
                true,
            ),
        ];
        for (left, right, expected) in table {
            assert_eq!(verdict(left, right), expected, "{left} {right}");
            assert_eq!(verdict(right, left), expected, "{right} {left}");
        }
    }
}
