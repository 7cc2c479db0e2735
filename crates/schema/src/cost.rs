//! What it costs to check one value against one schema, measured without checking it.
//!
//! Invariant: measuring never takes more steps than it is allowed, and validation does not do substantially more work
//! than was measured: every subschema counts that could apply to a part of the value, whether or not it will.

use std::collections::HashMap;

use stave_canon::{Object, Value};

use crate::graph::{is_schema, resolve};

/// The most steps that a validation may take. It ends within about a second on a slow machine.
pub const MOST_STEPS: u64 = 20_000_000;

/// How deeply subschemas and values may nest together: validation recurses once for each.
const MOST_DEPTH: usize = 600;

/// What a validation costs more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    Steps,
    Depth,
}

/// Counts steps down from what is allowed.
pub(crate) struct Meter<'s> {
    root: &'s Value,
    /// What one byte of text costs, by pattern.
    weights: &'s HashMap<String, u64>,
    left: u64,
}

impl<'s> Meter<'s> {
    pub(crate) fn new(root: &'s Value, weights: &'s HashMap<String, u64>, allowed: u64) -> Self {
        Meter { root, weights, left: allowed }
    }

    /// The steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    fn charge(&mut self, steps: u64) -> Result<(), Excess> {
        self.left = self.left.checked_sub(steps).ok_or(Excess::Steps)?;
        Ok(())
    }

    fn charge_text(&mut self, text: &str, bytes_per_step: usize) -> Result<(), Excess> {
        self.charge(1 + count(text.len() / bytes_per_step))
    }

    /// Counts the parts of a value, as often as it is compared.
    fn charge_size(&mut self, value: &Value, times: u64) -> Result<(), Excess> {
        match value {
            Value::Array(items) => {
                self.charge(times)?;
                items.iter().try_for_each(|item| self.charge_size(item, times))
            }
            Value::Object(members) => {
                self.charge(times)?;
                members.values().try_for_each(|value| self.charge_size(value, times))
            }
            Value::String(text) => self.charge(times.saturating_mul(1 + count(text.len() / 64))),
            _ => self.charge(times),
        }
    }

    /// Counts what a value costs against a schema.
    pub(crate) fn measure(&mut self, schema: &Value, value: &Value, depth: usize) -> Result<(), Excess> {
        self.charge(1)?;
        if depth > MOST_DEPTH {
            return Err(Excess::Depth);
        }
        let Some(keywords) = schema.as_object() else { return Ok(()) };
        self.charge(count(keywords.len()))?;
        for (keyword, argument) in keywords {
            self.keyword(keywords, keyword, argument, value, depth + 1)?;
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        keywords: &Object,
        keyword: &str,
        argument: &Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), Excess> {
        match (keyword, argument, value) {
            ("$ref", Value::String(reference), _) => {
                self.charge_text(reference, 16)?;
                // Admission resolved it before.
                match resolve(self.root, reference) {
                    Ok(target) => self.measure(target, value, depth),
                    Err(_) => Ok(()),
                }
            }
            ("not" | "if" | "then" | "else", schema, _) => self.measure(schema, value, depth),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas), _) => self.all(schemas, value, depth),
            ("dependencies" | "dependentSchemas", Value::Object(schemas), _) => {
                for schema in schemas.values() {
                    match schema {
                        Value::Array(names) => self.charge(1 + count(names.len()))?,
                        schema => self.measure(schema, value, depth)?,
                    }
                }
                Ok(())
            }
            ("enum", Value::Array(listed), value) => self.listed(listed, value),
            ("const", constant, _) => self.charge_size(constant, 1),
            ("required", Value::Array(names), Value::Object(_)) => self.charge(count(names.len())),
            ("pattern", Value::String(pattern), Value::String(text)) => self.pattern(pattern, text),
            ("minLength" | "maxLength", _, Value::String(text)) => self.charge_text(text, 64),
            ("format" | "contentMediaType" | "contentEncoding", _, Value::String(text)) => {
                self.charge_text(text, 4)
            }
            ("uniqueItems", Value::Bool(true), Value::Array(items)) => self.unique(items),
            ("items" | "prefixItems", Value::Array(schemas), Value::Array(items)) => {
                for (schema, item) in schemas.iter().zip(items) {
                    self.measure(schema, item, depth)?;
                }
                Ok(())
            }
            ("items" | "additionalItems" | "contains", schema, Value::Array(items)) => {
                self.each(schema, items.iter(), depth)
            }
            ("properties", Value::Object(schemas), Value::Object(members)) => {
                self.charge(count(schemas.len()))?;
                for (name, schema) in schemas {
                    if let Some(member) = members.get(name) {
                        self.measure(schema, member, depth)?;
                    }
                }
                Ok(())
            }
            ("patternProperties", Value::Object(schemas), Value::Object(members)) => {
                for (pattern, schema) in schemas {
                    for (name, member) in members {
                        self.pattern(pattern, name)?;
                        self.measure(schema, member, depth)?;
                    }
                }
                Ok(())
            }
            ("additionalProperties", schema, Value::Object(members)) => {
                self.additional(keywords, schema, members, depth)
            }
            ("propertyNames", schema, Value::Object(members)) => {
                for name in members.keys() {
                    self.charge_text(name, 64)?;
                    self.measure(schema, &Value::String(name.clone()), depth)?;
                }
                Ok(())
            }
            // To find what nothing else has looked at, the library validates the rest a second time.
            ("unevaluatedItems" | "unevaluatedProperties", schema, _) => {
                for (keyword, argument) in keywords {
                    if !keyword.starts_with("unevaluated") {
                        self.keyword(keywords, keyword, argument, value, depth)?;
                    }
                }
                match value {
                    Value::Array(items) => self.each(schema, items.iter(), depth),
                    Value::Object(members) => self.each(schema, members.values(), depth),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn all(&mut self, schemas: &[Value], value: &Value, depth: usize) -> Result<(), Excess> {
        schemas.iter().try_for_each(|schema| self.measure(schema, value, depth))
    }

    fn each<'v>(
        &mut self,
        schema: &Value,
        mut values: impl Iterator<Item = &'v Value>,
        depth: usize,
    ) -> Result<(), Excess> {
        if !is_schema(schema) {
            return Ok(());
        }
        values.try_for_each(|value| self.measure(schema, value, depth))
    }

    fn additional(
        &mut self,
        keywords: &Object,
        schema: &Value,
        members: &Object,
        depth: usize,
    ) -> Result<(), Excess> {
        let named = keywords.get("properties").and_then(Value::as_object);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        for (name, member) in members {
            self.charge(1)?;
            if named.is_some_and(|named| named.contains_key(name)) {
                continue;
            }
            for pattern in patterns.into_iter().flat_map(Object::keys) {
                self.pattern(pattern, name)?;
            }
            self.measure(schema, member, depth)?;
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str, text: &str) -> Result<(), Excess> {
        let weight = self.weights.get(pattern).copied().unwrap_or(1);
        self.charge(1 + weight.saturating_mul(count(text.len())))
    }

    /// Scalars are compared faster than they are counted; containers part by part.
    fn listed(&mut self, listed: &[Value], value: &Value) -> Result<(), Excess> {
        match value {
            Value::Array(_) | Value::Object(_) => {
                listed.iter().try_for_each(|item| self.charge_size(item, 1))
            }
            Value::String(text) => {
                self.charge((1 + count(listed.len() / 32)) * (1 + count(text.len() / 256)))
            }
            _ => self.charge(1 + count(listed.len() / 32)),
        }
    }

    /// Items are compared by hash. Lists of different shape can have the same hash, and are then compared in pairs.
    fn unique(&mut self, items: &[Value]) -> Result<(), Excess> {
        for item in items {
            let times = if has_list(item) { count(items.len()) } else { 4 };
            self.charge_size(item, times)?;
        }
        Ok(())
    }
}

fn has_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(members) => members.values().any(has_list),
        _ => false,
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
