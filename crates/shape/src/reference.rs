//! The settings of a file as a list, for people: what its schema says, one line for each key.

use stave_canon::{Object, Value};

/// One key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The keys on the way to it, joined by dots; `NAME` stands for a key that the file chooses.
    pub key: String,
    pub kind: String,
    pub default: Option<String>,
    pub description: String,
}

/// Every setting of a schema that [`crate::document`] made, in the order of its fields.
#[must_use]
pub fn settings(schema: &Value) -> Vec<Setting> {
    let empty = Object::new();
    let types = schema.get("$defs").and_then(Value::as_object).unwrap_or(&empty);
    let mut walk = Walk { types, open: Vec::new(), settings: Vec::new() };
    walk.members("", schema);
    walk.settings
}

struct Walk<'s> {
    types: &'s Object,
    /// The named types that are being walked, so that one which contains itself ends.
    open: Vec<&'s str>,
    settings: Vec<Setting>,
}

impl<'s> Walk<'s> {
    fn members(&mut self, prefix: &str, schema: &'s Value) {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (key, field) in properties {
            self.field(&format!("{prefix}{key}"), field, field);
        }
    }

    /// A field: a table is walked into, everything else is a setting.
    fn field(&mut self, key: &str, field: &'s Value, schema: &'s Value) {
        let (name, target) = self.target(schema);
        let is_open = name.is_some_and(|name| self.open.contains(&name));
        let named = target.get("additionalProperties").filter(|named| named.as_object().is_some());
        let tables = target.get("items").map(|items| self.target(items));
        let has_tables = tables.is_some_and(|(_, items)| items.get("properties").is_some());
        let is_table = target.get("properties").is_some() || named.is_some() || has_tables;
        if !is_table || is_open {
            self.settings.push(Setting {
                key: key.to_owned(),
                kind: self.kind(schema),
                default: schema.get("default").map(Value::to_string),
                description: text(field).or_else(|| text(target)).unwrap_or_default().to_owned(),
            });
            return;
        }
        self.open.extend(name);
        if let Some(named) = named {
            self.field(&format!("{key}.NAME"), if text(named).is_some() { named } else { field }, named);
        }
        if let Some((_, items)) = tables.filter(|_| has_tables) {
            self.members(&format!("{key}[]."), items);
        }
        self.members(&format!("{key}."), target);
        if name.is_some() {
            self.open.pop();
        }
    }

    fn target(&self, schema: &'s Value) -> (Option<&'s str>, &'s Value) {
        let name = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| reference.strip_prefix("#/$defs/"));
        (name, name.and_then(|name| self.types.get(name)).unwrap_or(schema))
    }

    /// What is allowed there, in words.
    fn kind(&self, schema: &'s Value) -> String {
        let (_, schema) = self.target(schema);
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return words.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        }
        if let Some(choices) = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array) {
            return choices.iter().map(|choice| self.kind(choice)).collect::<Vec<_>>().join(", or ");
        }
        let kinds = schema.get("type");
        let first = kinds.and_then(Value::as_array).and_then(|kinds| kinds.first()).or(kinds);
        match first.and_then(Value::as_str) {
            Some("array") => match schema.get("items") {
                Some(items) => format!("array of {}", self.kind(items)),
                None => "array".to_owned(),
            },
            Some("integer") => bounded("integer", schema),
            Some("object") => "table".to_owned(),
            Some(kind) => kind.to_owned(),
            None => "any value".to_owned(),
        }
    }
}

fn bounded(kind: &str, schema: &Value) -> String {
    // The bounds of a machine integer say nothing to people.
    match (schema.get("minimum").and_then(Value::as_i64), schema.get("maximum").and_then(Value::as_i64)) {
        (Some(0) | None, None) => kind.to_owned(),
        (Some(min), Some(max)) if max < i64::from(i32::MAX) => format!("{kind} from {min} to {max}"),
        (Some(min), _) if min > 0 => format!("{kind} of at least {min}"),
        _ => kind.to_owned(),
    }
}

fn text(schema: &Value) -> Option<&str> {
    schema.get("description").and_then(Value::as_str)
}
