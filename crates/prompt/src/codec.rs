//! Between a Prompt IR and its dictionary (`to_dict`, `from_dict`).
//!
//! Reading checks every type and range and reports all faults at once, each with a JSON pointer. A
//! document of exactly version 1.0 may not carry fields the specification does not name; one of a later
//! 1.x may, and keeps them.
//!
//! Invariant: `from_dict(to_dict(ir)) == ir`.

use std::fmt;

use stave_canon::{Clock, Ids, Pointer, Value};
use stave_shape::{Pattern, Place, Reader, Shape};
use thiserror::Error;

use crate::{CreatedAt, IR_VERSION, PromptIr};

/// One thing wrong with a dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFault {
    /// Where: the faulty value, or the object that lacks a field.
    pub pointer: Pointer,
    pub kind: PromptFaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFaultKind {
    MissingField(&'static str),
    UnknownField(String),
    WrongType {
        expected: &'static str,
        found: &'static str,
    },
    OutOfRange {
        expected: String,
        found: String,
    },
    UnknownPhase(String),
    /// `created_at` is not an ISO 8601 time.
    BadTimestamp(String),
    UnsupportedVersion(String),
}

/// A dictionary that is not a Prompt IR, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct InvalidPrompt {
    pub faults: Vec<PromptFault>,
}

/// The form of `ir_version`.
pub(crate) const ANY_1_X: Pattern =
    Pattern { name: "a 1.x version", expression: "^1\\.", fits: |version| version.starts_with("1.") };

/// The dictionary of a Prompt IR, its fields in the specification's order.
#[must_use]
pub fn to_dict(ir: &PromptIr) -> Value {
    ir.write()
}

/// The Prompt IR of a dictionary. A missing or empty `ir_id` and a missing `created_at` are filled in
/// from the ports.
pub fn from_dict(value: &Value, ids: &dyn Ids, clock: &dyn Clock) -> Result<PromptIr, InvalidPrompt> {
    let mut reader = Reader::new();
    // Version 1.0 is frozen. With a version that cannot be read nothing can be said about more fields.
    reader.closed = value.get("ir_version").is_none_or(|version| version.as_str() == Some(IR_VERSION));
    let ir = PromptIr::read(value, &Place::root(), &mut reader);
    let faults = reader.finish();
    let Some(mut ir) = ir.filter(|_| faults.is_empty()) else {
        return Err(InvalidPrompt { faults: faults.into_iter().map(PromptFault::from).collect() });
    };
    if ir.ir_id.is_empty() {
        ir.ir_id = ids.short();
    }
    if value.get("created_at").is_none_or(Value::is_null) {
        ir.created_at = CreatedAt::from_timestamp(clock.now());
    }
    Ok(ir)
}

/// The JSON Schema of a dictionary.
#[must_use]
pub fn schema() -> Value {
    let mut schema = stave_shape::document::<PromptIr>("urn:stave:prompt:1.0", "Prompt IR 1.0");
    let Some(members) = schema.as_object_mut() else { return schema };
    // Only version 1.0 has exactly these fields.
    members.shift_remove("additionalProperties");
    let fields = members.get("properties").and_then(Value::as_object).into_iter().flatten();
    let names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
    let closed = Value::from_iter([("propertyNames", Value::from_iter([("enum", names)]))]);
    let version = Value::from_iter([("const", IR_VERSION)]);
    let frozen = Value::from_iter([("properties", Value::from_iter([("ir_version", version)]))]);
    members.insert("if".to_owned(), frozen);
    members.insert("then".to_owned(), closed);
    schema
}

impl From<stave_shape::Fault> for PromptFault {
    fn from(fault: stave_shape::Fault) -> Self {
        use stave_shape::FaultKind as Shaped;
        let field = fault.pointer.as_str().trim_start_matches('/');
        let kind = match fault.kind {
            Shaped::MissingKey(key) => PromptFaultKind::MissingField(key),
            Shaped::UnknownKey { key, .. } => PromptFaultKind::UnknownField(key),
            Shaped::WrongType { wanted, found } => {
                let expected = match (field, wanted) {
                    ("ir_id" | "model_hint" | "created_at", "a string") => "string or null",
                    ("context_refs" | "constraints", "an array") => "array of strings",
                    _ => without_article(wanted),
                };
                PromptFaultKind::WrongType { expected, found: without_article(found) }
            }
            Shaped::OutOfRange { wanted, found } => PromptFaultKind::OutOfRange { expected: wanted, found },
            Shaped::UnknownWord { found, .. } => PromptFaultKind::UnknownPhase(found),
            Shaped::WrongForm { found, .. } if field == "ir_version" => {
                PromptFaultKind::UnsupportedVersion(found)
            }
            Shaped::WrongForm { found, .. } => PromptFaultKind::BadTimestamp(found),
            // No field of a prompt asks for more.
            other => PromptFaultKind::OutOfRange { expected: other.to_string(), found: field.to_owned() },
        };
        PromptFault { pointer: fault.pointer, kind }
    }
}

/// `string` for `a string`.
pub(crate) fn without_article(words: &'static str) -> &'static str {
    words.strip_prefix("an ").or_else(|| words.strip_prefix("a ")).unwrap_or(words)
}

impl fmt::Display for PromptFaultKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromptFaultKind::MissingField(field) => write!(out, "the field `{field}` is missing"),
            PromptFaultKind::UnknownField(field) => {
                write!(out, "version {IR_VERSION} has no field `{field}`")
            }
            PromptFaultKind::WrongType { expected, found } => {
                write!(out, "expected {expected}, found {found}")
            }
            PromptFaultKind::OutOfRange { expected, found } => write!(out, "{found} is not {expected}"),
            PromptFaultKind::UnknownPhase(word) => write!(out, "{word:?} is not a phase"),
            PromptFaultKind::BadTimestamp(text) => write!(out, "{text:?} is not an ISO 8601 date and time"),
            PromptFaultKind::UnsupportedVersion(version) => {
                write!(out, "version {version:?} is not a 1.x version")
            }
        }
    }
}

impl fmt::Display for PromptFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.as_str().is_empty() {
            write!(out, "{}", self.kind)
        } else {
            write!(out, "{}: {}", self.pointer, self.kind)
        }
    }
}

impl fmt::Display for InvalidPrompt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("not a Prompt IR: ")?;
        for (index, fault) in self.faults.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(out, "{separator}{fault}")?;
        }
        Ok(())
    }
}
