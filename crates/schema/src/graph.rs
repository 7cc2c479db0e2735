//! Which subschemas a schema applies, and to what.

use stave_canon::{Object, Value};

use crate::SchemaFault;

/// The most characters of a reference that a message repeats.
const SHOWN: usize = 200;

/// The subschemas that a schema applies to the same value that it is applied to itself.
pub(crate) fn in_place<'s>(root: &'s Value, schema: &'s Object) -> Result<Vec<&'s Value>, SchemaFault> {
    let mut found = Vec::new();
    if let Some(Value::String(reference)) = schema.get("$ref") {
        found.push(resolve(root, reference)?);
    }
    found.extend(["not", "if", "then", "else"].iter().filter_map(|keyword| schema.get(*keyword)));
    for keyword in ["allOf", "anyOf", "oneOf"] {
        found.extend(schema.get(keyword).and_then(Value::as_array).unwrap_or_default());
    }
    for keyword in ["dependencies", "dependentSchemas"] {
        let schemas = schema.get(keyword).and_then(Value::as_object);
        found.extend(schemas.into_iter().flat_map(Object::values).filter(|value| is_schema(value)));
    }
    Ok(found)
}

/// The subschemas for the items of a list: those of single places, of which an item meets one, and those for all items.
pub(crate) fn of_items(schema: &Object) -> (Vec<&Value>, Vec<&Value>) {
    let mut single = Vec::new();
    let mut every = Vec::new();
    for keyword in ["items", "prefixItems"] {
        match schema.get(keyword) {
            Some(Value::Array(places)) => single.extend(places),
            Some(one) => every.push(one),
            None => {}
        }
    }
    let others = ["additionalItems", "contains", "unevaluatedItems"];
    every.extend(others.iter().filter_map(|keyword| schema.get(*keyword)));
    (single, every)
}

/// The subschemas for the members of an object: those of names, of which a member meets one, and those that may apply
/// to each member.
pub(crate) fn of_members(schema: &Object) -> (Vec<&Value>, Vec<&Value>) {
    let inside = |keyword: &str| {
        let schemas = schema.get(keyword).and_then(Value::as_object);
        schemas.into_iter().flat_map(Object::values)
    };
    let mut every: Vec<&Value> = inside("patternProperties").collect();
    let others = ["additionalProperties", "propertyNames", "unevaluatedProperties"];
    every.extend(others.iter().filter_map(|keyword| schema.get(*keyword)));
    (inside("properties").collect(), every)
}

pub(crate) fn is_schema(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Bool(_))
}

/// What a reference points at: a place in the schema, by its path from the root. The library would resolve references
/// below a nested `$id` from there, so a path may not lead through one.
pub(crate) fn resolve<'s>(root: &'s Value, reference: &str) -> Result<&'s Value, SchemaFault> {
    let shown = || reference.chars().take(SHOWN).collect::<String>();
    let Some(fragment) = reference.strip_prefix('#') else { return Err(SchemaFault::Remote(shown())) };
    let fragment = decoded(fragment).ok_or_else(|| SchemaFault::Unresolved(shown()))?;
    if fragment.is_empty() {
        return Ok(root);
    }
    let Some(path) = fragment.strip_prefix('/') else {
        return Err(SchemaFault::Unsupported("a reference to a name"));
    };
    let mut place = root;
    for segment in path.split('/') {
        let name = segment.replace("~1", "/").replace("~0", "~");
        let next = match place {
            Value::Object(members) => members.get(&name),
            Value::Array(items) => name.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => None,
        };
        place = next.ok_or_else(|| SchemaFault::Unresolved(shown()))?;
        if place.as_object().is_some_and(is_resource) {
            return Err(SchemaFault::Unsupported(NESTED_ID));
        }
    }
    Ok(place)
}

/// How messages name a subschema that is a document of its own.
pub(crate) const NESTED_ID: &str = "$id below the root";

/// Whether a subschema has an address of its own, from which references below it are resolved.
pub(crate) fn is_resource(schema: &Object) -> bool {
    let id = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
    [id("$id"), id("id")].into_iter().flatten().any(|id| !id.starts_with('#'))
}

/// A fragment of a URI without its percent encoding.
fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}
