//! What an answer has to be: its format, its schema, its fields and its length.
//!
//! A template states the requirements of a role. A prompt may state its own in `output_requirements`: as a schema, or,
//! when it has a `format`, with the same fields as a template.

use std::fmt;

use stave_canon::{Object, Pointer, Value};
use stave_shape::Shape;
use thiserror::Error;

use crate::json_schema;

/// The members of the long form of `output_requirements`.
pub(crate) const MEMBERS: [&str; 6] =
    ["format", "required_fields", "schema", "max_tokens", "example", "error_format"];

/// In which form a role answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Shape)]
#[shape(words)]
pub enum OutputFormat {
    #[default]
    Json,
    Markdown,
    Xml,
    Text,
}

/// How a role answers.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(name = "Output")]
pub struct OutputRequirements {
    /// The form of the answer.
    #[shape(default)]
    pub format: OutputFormat,
    /// The fields that every answer has: members of a JSON object, headings in Markdown, elements in XML.
    #[shape(default)]
    pub required_fields: Vec<String>,
    /// The schema of the answer: `{"field": "type"}`, or a JSON Schema.
    pub schema: Option<Value>,
    /// The most tokens of the answer.
    #[shape(max = i64::MAX)]
    pub max_tokens: Option<u64>,
    /// An answer as it should be.
    #[shape(not_null)]
    pub example: Option<Value>,
    /// What the model answers when it cannot do the task; for JSON `{"error": "explanation"}` when absent.
    pub error_format: Option<Value>,
}

/// Output requirements that cannot be used, with everything that is wrong with them and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct BadRequirements {
    pub faults: Vec<(Pointer, String)>,
}

impl BadRequirements {
    /// One fault of the whole.
    #[must_use]
    pub fn because(message: String) -> Self {
        BadRequirements { faults: vec![(Pointer::default(), message)] }
    }
}

impl fmt::Display for BadRequirements {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the output requirements cannot be used: ")?;
        for (index, (pointer, message)) in self.faults.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let place = if pointer.as_str().is_empty() { "" } else { ": " };
            write!(out, "{separator}{pointer}{place}{message}")?;
        }
        Ok(())
    }
}

impl OutputRequirements {
    /// JSON that fits a schema, short or as JSON Schema.
    #[must_use]
    pub fn of_schema(schema: Value) -> Self {
        OutputRequirements { schema: Some(schema), ..OutputRequirements::default() }
    }

    /// The `output_requirements` of a prompt. An object whose `format` is one of the four words, and whose other
    /// members are those of a template's output, is the long form; any other object is a schema.
    pub fn of_prompt(stated: &Object) -> Result<Self, BadRequirements> {
        if !is_long_form(stated) {
            return Ok(OutputRequirements::of_schema(stated.clone().into()));
        }
        stave_shape::read(&Value::Object(stated.clone())).map_err(|faults| BadRequirements {
            faults: faults.0.into_iter().map(|fault| (fault.pointer, fault.kind.explained())).collect(),
        })
    }

    /// These requirements with the length and the error format of a role where they have none.
    #[must_use]
    pub fn or_of_role(mut self, role: Option<&OutputRequirements>) -> Self {
        let Some(role) = role else { return self };
        self.max_tokens = self.max_tokens.or(role.max_tokens);
        if self.format == role.format && self.error_format.is_none() {
            self.error_format.clone_from(&role.error_format);
        }
        self
    }

    /// The reply that the model gives when it cannot do the task; absent when the prompt states none.
    #[must_use]
    pub fn effective_error_format(&self) -> Option<Value> {
        let usual =
            || (self.format == OutputFormat::Json).then(|| Value::from_iter([("error", "explanation")]));
        self.error_format.clone().or_else(usual)
    }

    /// The JSON Schema that an answer in JSON is checked against: the schema, and the required fields.
    #[must_use]
    pub fn effective_schema(&self) -> Option<Value> {
        if self.format != OutputFormat::Json {
            return None;
        }
        let fields = || Value::from(self.required_fields.clone());
        let object = || Value::from_iter([("type", Value::from("object")), ("required", fields())]);
        let Some(mut schema) = self.schema.as_ref().map(json_schema) else {
            return Some(if self.required_fields.is_empty() { Value::Bool(true) } else { object() });
        };
        if self.required_fields.is_empty() {
            return Some(schema);
        }
        let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
        match schema.as_object_mut().filter(|_| is_object) {
            Some(members) => {
                let listed = members.get("required").and_then(Value::as_array).unwrap_or_default();
                let mut required = listed.to_vec();
                let missing = self.required_fields.iter().map(|field| Value::from(field.as_str()));
                missing.for_each(|field| {
                    if !required.contains(&field) {
                        required.push(field);
                    }
                });
                members.insert("required".to_owned(), Value::Array(required));
                Some(schema)
            }
            None => Some(Value::from_iter([("allOf", Value::Array(vec![schema, object()]))])),
        }
    }

    /// The requirements as a compiled prompt shows them, with what is really checked.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let schema = match self.format {
            OutputFormat::Json => self.effective_schema(),
            _ => self.schema.clone(),
        };
        Value::from_iter([
            ("format_type", Value::from(self.format.word())),
            ("required_fields", self.required_fields.clone().into()),
            ("schema_definition", schema.into()),
            ("max_tokens", self.max_tokens.into()),
            ("example", self.example.clone().into()),
            ("error_format", self.effective_error_format().into()),
        ])
    }
}

/// Whether `output_requirements` are the long form: they have a known format, and members of a template's output only.
pub(crate) fn is_long_form(stated: &Object) -> bool {
    stated.get("format").and_then(Value::as_str).is_some_and(is_format)
        && stated.keys().all(|key| MEMBERS.contains(&key.as_str()))
}

pub(crate) fn is_format(word: &str) -> bool {
    [OutputFormat::Json, OutputFormat::Markdown, OutputFormat::Xml, OutputFormat::Text]
        .iter()
        .any(|format| format.word() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<OutputRequirements, BadRequirements> {
        OutputRequirements::of_prompt(stave_canon::parse(text).unwrap().as_object().unwrap())
    }

    #[test]
    fn the_long_form_is_told_from_a_schema() {
        let long = of(r#"{"format": "markdown", "required_fields": ["Risks"], "max_tokens": 9}"#).unwrap();
        assert_eq!((long.format, long.max_tokens), (OutputFormat::Markdown, Some(9)));
        for schema in [
            r#"{"format": "string", "example": "string"}"#,
            r#"{"format": "json", "title": "string"}"#,
            r#"{"type": "string", "format": "date"}"#,
        ] {
            assert_eq!(of(schema).unwrap().schema, Some(stave_canon::parse(schema).unwrap()), "{schema}");
        }
        let faults = of(r#"{"format": "xml", "required_fields": 3, "max_tokens": -1}"#).unwrap_err();
        let faults = faults.to_string();
        assert!(faults.contains("/required_fields") && faults.contains("/max_tokens"), "{faults}");
    }

    #[test]
    fn required_fields_are_part_of_the_schema_that_is_checked() {
        let schema = |text: &str| of(text).unwrap().effective_schema().unwrap_or_default().to_string();
        assert_eq!(
            schema(
                r#"{"format": "json", "schema": {"a": "string", "b": "string?"}, "required_fields": ["b", "a"]}"#
            ),
            r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}"#
        );
        assert_eq!(
            schema(r#"{"format": "json", "required_fields": ["b"]}"#),
            r#"{"type":"object","required":["b"]}"#
        );
        assert_eq!(
            schema(
                r#"{"format": "json", "schema": {"anyOf": [{"type": "object"}]}, "required_fields": ["b"]}"#
            ),
            r#"{"allOf":[{"anyOf":[{"type":"object"}]},{"type":"object","required":["b"]}]}"#
        );
        assert_eq!(schema(r#"{"format": "json"}"#), "true");
    }
}
