//! Adapting a JSON Schema to a provider's strict mode.
//!
//! The copy is only ever sent to the provider. The reply is validated against the original, so a keyword
//! that merely restricts may be left out, and an optional property may become required: whatever satisfies
//! the provider's copy is still judged by the author's schema. A schema whose meaning would be lost is refused.

use stave_canon::{Object, Pointer, Value};
use thiserror::Error;

/// Whose strict mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrictMode {
    OpenAi,
    Anthropic,
}

/// Why no strict copy exists.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason} (at `{pointer}`)")]
pub struct StrictFault {
    /// JSON Pointer into the schema.
    pub pointer: String,
    pub reason: &'static str,
}

/// Keywords that only narrow or annotate; no strict mode takes them.
const DROPPED: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "minLength",
    "maxLength",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords that only narrow and that Anthropic's mode does not take in addition.
const DROPPED_BY_ANTHROPIC: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "pattern",
];

/// A copy of `schema` that the strict mode accepts and whose meaning is the same or narrower for objects:
/// closed, and for OpenAI with every property required.
pub fn strict_copy(schema: &Value, mode: StrictMode) -> Result<Value, StrictFault> {
    if !matches!(schema.get("type").and_then(Value::as_str), Some("object"))
        && schema.get("properties").is_none()
    {
        return Err(StrictFault { pointer: String::new(), reason: "the outermost schema is not an object" });
    }
    Copier { mode }.schema(schema, &Pointer::root())
}

struct Copier {
    mode: StrictMode,
}

impl Copier {
    fn schema(&self, schema: &Value, at: &Pointer) -> Result<Value, StrictFault> {
        let fault = |reason| StrictFault { pointer: at.to_string(), reason };
        let Value::Object(original) = schema else {
            return Err(fault("a schema that allows anything has no strict form"));
        };
        for (keyword, reason) in [
            ("allOf", "`allOf` has no strict form"),
            ("patternProperties", "`patternProperties` has no strict form"),
            ("prefixItems", "tuples have no strict form"),
            ("$dynamicRef", "dynamic references have no strict form"),
        ] {
            if original.contains_key(keyword) {
                return Err(fault(reason));
            }
        }
        let mut copy = Object::new();
        for (keyword, value) in original {
            let here = at.key(keyword);
            let dropped = DROPPED.contains(&keyword.as_str())
                || (self.mode == StrictMode::Anthropic && DROPPED_BY_ANTHROPIC.contains(&keyword.as_str()));
            if dropped {
                continue;
            }
            match keyword.as_str() {
                "properties" | "$defs" | "definitions" => {
                    copy.insert(keyword.clone(), self.each(value, &here)?);
                }
                "items" => {
                    copy.insert(keyword.clone(), self.schema(value, &here)?);
                }
                // Exactly one of them implies at least one of them.
                "anyOf" | "oneOf" => {
                    if copy.contains_key("anyOf") {
                        return Err(fault("`anyOf` together with `oneOf` has no strict form"));
                    }
                    copy.insert("anyOf".to_owned(), self.all(value, &here)?);
                }
                "additionalProperties" => {
                    if matches!(value, Value::Object(schema) if !schema.is_empty()) {
                        return Err(fault("an object with free keys has no strict form"));
                    }
                }
                "required" => {}
                _ => {
                    copy.insert(keyword.clone(), value.clone());
                }
            }
        }
        self.close(original, &mut copy, at)?;
        Ok(Value::Object(copy))
    }

    /// Closes objects, and refuses what is too open to be closed.
    fn close(&self, original: &Object, copy: &mut Object, at: &Pointer) -> Result<(), StrictFault> {
        let fault = |reason| StrictFault { pointer: at.to_string(), reason };
        let has_type = |wanted: &str| match original.get("type") {
            Some(Value::String(word)) => word == wanted,
            Some(Value::Array(words)) => words.iter().any(|word| word.as_str() == Some(wanted)),
            _ => false,
        };
        let decided =
            ["type", "enum", "const", "anyOf", "$ref"].iter().any(|keyword| copy.contains_key(*keyword));
        let properties = original.get("properties").and_then(Value::as_object);
        if has_type("object") || properties.is_some() {
            let properties = properties.filter(|properties| !properties.is_empty());
            let closed = original.get("additionalProperties").and_then(Value::as_bool) == Some(false);
            let names: Vec<String> = match properties {
                Some(properties) => properties.keys().cloned().collect(),
                None if closed => Vec::new(),
                None => return Err(fault("an object with free keys has no strict form")),
            };
            copy.entry("type".to_owned()).or_insert_with(|| "object".into());
            copy.entry("properties".to_owned()).or_insert_with(|| Value::Object(Object::new()));
            let required = match self.mode {
                StrictMode::OpenAi => Some(Value::from(names)),
                StrictMode::Anthropic => original.get("required").cloned(),
            };
            if let Some(required) = required {
                copy.insert("required".to_owned(), required);
            }
            copy.insert("additionalProperties".to_owned(), false.into());
        } else if !decided {
            return Err(fault("a schema that allows anything has no strict form"));
        }
        if has_type("array") && !copy.contains_key("items") {
            return Err(fault("an array whose items may be anything has no strict form"));
        }
        Ok(())
    }

    fn each(&self, schemas: &Value, at: &Pointer) -> Result<Value, StrictFault> {
        let Value::Object(schemas) = schemas else { return Ok(schemas.clone()) };
        let copies =
            schemas.iter().map(|(name, schema)| Ok((name.clone(), self.schema(schema, &at.key(name))?)));
        Ok(Value::Object(copies.collect::<Result<Object, StrictFault>>()?))
    }

    fn all(&self, schemas: &Value, at: &Pointer) -> Result<Value, StrictFault> {
        let Value::Array(schemas) = schemas else { return Ok(schemas.clone()) };
        let copies = schemas.iter().enumerate().map(|(index, schema)| self.schema(schema, &at.index(index)));
        Ok(Value::Array(copies.collect::<Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(schema: &str, mode: StrictMode) -> String {
        let schema = stave_canon::parse(schema).unwrap();
        strict_copy(&schema, mode).map_or_else(|fault| fault.to_string(), |copy| copy.to_string())
    }

    #[test]
    fn objects_are_closed_and_for_openai_all_required_at_every_depth() {
        let schema = r##"{"$schema":"x","type":"object","properties":{
            "answer":{"type":"string","minLength":1,"pattern":"a"},
            "next":{"type":["object","null"],"properties":{"n":{"type":"integer","minimum":1}}},
            "list":{"type":"array","items":{"oneOf":[{"type":"string"},{"$ref":"#/$defs/d"}]}}},
            "required":["answer"],"additionalProperties":true,
            "$defs":{"d":{"properties":{"k":{"enum":[1,2]}}}}}"##;
        let schema = stave_canon::parse(schema).unwrap();
        let text = strict_copy(&schema, StrictMode::OpenAi).unwrap().to_string();
        insta::assert_snapshot!(text, @r##"{"type":"object","properties":{"answer":{"type":"string","pattern":"a"},"next":{"type":["object","null"],"properties":{"n":{"type":"integer","minimum":1}},"required":["n"],"additionalProperties":false},"list":{"type":"array","items":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/d"}]}}},"$defs":{"d":{"properties":{"k":{"enum":[1,2]}},"type":"object","required":["k"],"additionalProperties":false}},"required":["answer","next","list"],"additionalProperties":false}"##);
        let text = strict_copy(&schema, StrictMode::Anthropic).unwrap().to_string();
        insta::assert_snapshot!(text, @r##"{"type":"object","properties":{"answer":{"type":"string"},"next":{"type":["object","null"],"properties":{"n":{"type":"integer"}},"additionalProperties":false},"list":{"type":"array","items":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/d"}]}}},"$defs":{"d":{"properties":{"k":{"enum":[1,2]}},"type":"object","additionalProperties":false}},"required":["answer"],"additionalProperties":false}"##);
    }

    #[test]
    fn a_strict_copy_of_a_strict_copy_is_itself() {
        let schema =
            r#"{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}"#;
        for mode in [StrictMode::OpenAi, StrictMode::Anthropic] {
            let once = copy(schema, mode);
            assert_eq!(copy(&once, mode), once);
        }
    }

    #[test]
    fn a_schema_whose_meaning_would_be_lost_is_refused_with_its_place() {
        for (schema, expected) in [
            ("true", "the outermost schema is not an object (at ``)"),
            (
                r#"{"type":"array","items":{"type":"string"}}"#,
                "the outermost schema is not an object (at ``)",
            ),
            (r#"{"type":"object"}"#, "an object with free keys has no strict form (at ``)"),
            (
                r#"{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}}}"#,
                "an object with free keys has no strict form (at `/properties/m`)",
            ),
            (
                r#"{"type":"object","properties":{"m":{}}}"#,
                "a schema that allows anything has no strict form (at `/properties/m`)",
            ),
            (
                r#"{"type":"object","properties":{"m":{"type":"array"}}}"#,
                "an array whose items may be anything has no strict form (at `/properties/m`)",
            ),
            (
                r#"{"type":"object","properties":{"m":{"allOf":[{"type":"string"}]}}}"#,
                "`allOf` has no strict form (at `/properties/m`)",
            ),
        ] {
            assert_eq!(copy(schema, StrictMode::OpenAi), expected);
        }
    }
}
