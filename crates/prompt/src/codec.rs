//! Between a Prompt IR and its dictionary (`to_dict`, `from_dict`).
//!
//! Reading checks every type and range and reports all faults at once, each with a JSON pointer. A
//! document of exactly version 1.0 may not carry fields the specification does not name; one of a later
//! 1.x may, and keeps them.
//!
//! Invariant: `from_dict(to_dict(ir)) == ir`.

use std::fmt;

use stave_canon::{Clock, Ids, Object, Pointer, Value};
use thiserror::Error;

use crate::{CreatedAt, IR_VERSION, PhaseType, Priority, PromptIr, Temperature, TokenBudget};

/// The fields in the order in which they are written.
const FIELDS: [&str; 15] = [
    "ir_id",
    "role",
    "intent",
    "phase",
    "context_refs",
    "constraints",
    "output_requirements",
    "token_budget",
    "priority",
    "model_hint",
    "temperature_hint",
    "schema_id",
    "ir_version",
    "metadata",
    "created_at",
];

/// One thing wrong with a dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where: the faulty value, or the object that lacks a field.
    pub pointer: Pointer,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    MissingField(&'static str),
    UnknownField(String),
    WrongType {
        expected: &'static str,
        found: &'static str,
    },
    OutOfRange {
        expected: &'static str,
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
    pub faults: Vec<Fault>,
}

/// The dictionary of a Prompt IR, its fields in the specification's order.
#[must_use]
pub fn to_dict(ir: &PromptIr) -> Value {
    let known: [Value; 15] = [
        ir.ir_id.as_str().into(),
        ir.role.as_str().into(),
        ir.intent.as_str().into(),
        ir.phase.word().into(),
        ir.context_refs.to_vec().into(),
        ir.constraints.to_vec().into(),
        Object::clone(&ir.output_requirements).into(),
        (&ir.token_budget).into(),
        ir.priority.into(),
        ir.model_hint.clone().into(),
        (&ir.temperature_hint).into(),
        ir.schema_id.as_str().into(),
        ir.ir_version.as_str().into(),
        ir.metadata.clone().into(),
        ir.created_at.to_string().into(),
    ];
    let later = ir.later_fields.iter().map(|(key, value)| (key.clone(), value.clone()));
    Value::Object(FIELDS.into_iter().map(str::to_owned).zip(known).chain(later).collect())
}

/// The Prompt IR of a dictionary. A missing or empty `ir_id` and a missing `created_at` are filled in
/// from the ports.
pub fn from_dict(value: &Value, ids: &dyn Ids, clock: &dyn Clock) -> Result<PromptIr, InvalidPrompt> {
    let Some(object) = value.as_object() else {
        let kind = FaultKind::WrongType { expected: "object", found: value.kind() };
        return Err(InvalidPrompt { faults: vec![Fault { pointer: Pointer::root(), kind }] });
    };
    let mut reader = Reader { object, faults: Vec::new() };
    let ir = reader.prompt(ids, clock);
    match ir {
        Some(ir) if reader.faults.is_empty() => Ok(ir),
        _ => Err(InvalidPrompt { faults: reader.faults }),
    }
}

struct Reader<'v> {
    object: &'v Object,
    faults: Vec<Fault>,
}

impl<'v> Reader<'v> {
    /// Reads every field before it gives up, so that all faults are found.
    fn prompt(&mut self, ids: &dyn Ids, clock: &dyn Clock) -> Option<PromptIr> {
        let ir_version = self.version();
        let later_fields = self.later_fields(ir_version.as_deref());
        let ir_id = self.optional_text("ir_id").filter(|id| !id.is_empty());
        let role = self.required_text("role");
        let intent = self.required_text("intent");
        let phase = self.phase();
        let context_refs = self.texts("context_refs");
        let constraints = self.texts("constraints");
        let output_requirements = self
            .required("output_requirements")
            .and_then(|value| self.object_of("output_requirements", value));
        let token_budget = self.token_budget();
        let priority = self.priority();
        let model_hint = self.optional_text("model_hint");
        let temperature_hint = self.temperature();
        let schema_id = self.defaulted_text("schema_id", "default");
        let metadata = match self.object.get("metadata") {
            None => Some(Object::new()),
            Some(value) => self.object_of("metadata", value),
        };
        let created_at = self.created_at();
        if !self.faults.is_empty() {
            return None;
        }
        Some(PromptIr {
            ir_id: ir_id.unwrap_or_else(|| ids.short()),
            role: role?,
            intent: intent?,
            phase: phase?,
            context_refs: context_refs?.into(),
            constraints: constraints?.into(),
            output_requirements: output_requirements?.into(),
            token_budget: token_budget?,
            priority: priority?,
            model_hint,
            temperature_hint: temperature_hint?,
            schema_id: schema_id?,
            ir_version: ir_version?,
            metadata: metadata?,
            created_at: created_at.unwrap_or_else(|| CreatedAt::from_timestamp(clock.now())),
            later_fields,
        })
    }

    fn fault(&mut self, pointer: Pointer, kind: FaultKind) {
        self.faults.push(Fault { pointer, kind });
    }

    fn wrong_type(&mut self, field: &str, expected: &'static str, found: &Value) {
        let kind = FaultKind::WrongType { expected, found: found.kind() };
        self.fault(Pointer::root().key(field), kind);
    }

    fn out_of_range(&mut self, field: &str, expected: &'static str, found: &Value) {
        let kind = FaultKind::OutOfRange { expected, found: found.to_string() };
        self.fault(Pointer::root().key(field), kind);
    }

    fn required(&mut self, field: &'static str) -> Option<&'v Value> {
        let value = self.object.get(field);
        if value.is_none() {
            self.fault(Pointer::root(), FaultKind::MissingField(field));
        }
        value
    }

    fn text_of(&mut self, field: &str, value: &Value) -> Option<String> {
        if value.as_str().is_none() {
            self.wrong_type(field, "string", value);
        }
        value.as_str().map(str::to_owned)
    }

    fn required_text(&mut self, field: &'static str) -> Option<String> {
        let value = self.required(field)?;
        self.text_of(field, value)
    }

    fn defaulted_text(&mut self, field: &str, default: &str) -> Option<String> {
        match self.object.get(field) {
            None => Some(default.to_owned()),
            Some(value) => self.text_of(field, value),
        }
    }

    /// A text that may be absent or null.
    fn optional_text(&mut self, field: &str) -> Option<String> {
        match self.object.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                self.wrong_type(field, "string or null", other);
                None
            }
        }
    }

    fn object_of(&mut self, field: &str, value: &Value) -> Option<Object> {
        if value.as_object().is_none() {
            self.wrong_type(field, "object", value);
        }
        value.as_object().cloned()
    }

    fn texts(&mut self, field: &'static str) -> Option<Vec<String>> {
        let value = self.required(field)?;
        let Some(items) = value.as_array() else {
            self.wrong_type(field, "array of strings", value);
            return None;
        };
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.as_str().is_none()) {
            let kind = FaultKind::WrongType { expected: "string", found: item.kind() };
            self.fault(Pointer::root().key(field).index(index), kind);
        }
        items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
    }

    fn version(&mut self) -> Option<String> {
        let version = self.defaulted_text("ir_version", IR_VERSION)?;
        if !version.starts_with("1.") {
            let kind = FaultKind::UnsupportedVersion(version);
            self.fault(Pointer::root().key("ir_version"), kind);
            return None;
        }
        Some(version)
    }

    /// Fields beyond the known ones. Version 1.0 is frozen, so there they are faults; with a version that
    /// could not be read nothing can be said about them.
    fn later_fields(&mut self, version: Option<&str>) -> Object {
        let unknown = self.object.iter().filter(|(key, _)| !FIELDS.contains(&key.as_str()));
        if version != Some(IR_VERSION) {
            return unknown.map(|(key, value)| (key.clone(), value.clone())).collect();
        }
        for (key, _) in unknown {
            let fault =
                Fault { pointer: Pointer::root().key(key), kind: FaultKind::UnknownField(key.clone()) };
            self.faults.push(fault);
        }
        Object::new()
    }

    fn phase(&mut self) -> Option<PhaseType> {
        let word = self.required_text("phase")?;
        let phase = PhaseType::from_word(&word);
        if phase.is_none() {
            self.fault(Pointer::root().key("phase"), FaultKind::UnknownPhase(word));
        }
        phase
    }

    fn token_budget(&mut self) -> Option<TokenBudget> {
        let value = self.required("token_budget")?;
        let Some(number) = value.as_number().filter(|number| number.is_integer()) else {
            self.wrong_type("token_budget", "integer", value);
            return None;
        };
        let budget = TokenBudget::new(number.clone());
        if budget.is_none() {
            self.out_of_range("token_budget", "at least 0", value);
        }
        budget
    }

    fn priority(&mut self) -> Option<Priority> {
        let Some(value) = self.object.get("priority") else {
            return Some(Priority::DEFAULT);
        };
        let Some(number) = value.as_number().filter(|number| number.is_integer()) else {
            self.wrong_type("priority", "integer", value);
            return None;
        };
        let priority = number.as_i64().and_then(Priority::new);
        if priority.is_none() {
            self.out_of_range("priority", "between 1 and 10", value);
        }
        priority
    }

    fn temperature(&mut self) -> Option<Temperature> {
        let Some(value) = self.object.get("temperature_hint") else {
            return Some(Temperature::default());
        };
        let Some(number) = value.as_number() else {
            self.wrong_type("temperature_hint", "number", value);
            return None;
        };
        let temperature = Temperature::new(number.clone());
        if temperature.is_none() {
            self.out_of_range("temperature_hint", "a finite number of at least 0", value);
        }
        temperature
    }

    fn created_at(&mut self) -> Option<CreatedAt> {
        let text = self.optional_text("created_at")?;
        match CreatedAt::parse(&text) {
            Ok(created_at) => Some(created_at),
            Err(error) => {
                self.fault(Pointer::root().key("created_at"), FaultKind::BadTimestamp(error.0));
                None
            }
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::MissingField(field) => write!(out, "the field `{field}` is missing"),
            FaultKind::UnknownField(field) => {
                write!(out, "version {IR_VERSION} has no field `{field}`")
            }
            FaultKind::WrongType { expected, found } => write!(out, "expected {expected}, found {found}"),
            FaultKind::OutOfRange { expected, found } => write!(out, "{found} is not {expected}"),
            FaultKind::UnknownPhase(word) => write!(out, "{word:?} is not a phase"),
            FaultKind::BadTimestamp(text) => write!(out, "{text:?} is not an ISO 8601 date and time"),
            FaultKind::UnsupportedVersion(version) => {
                write!(out, "version {version:?} is not a 1.x version")
            }
        }
    }
}

impl fmt::Display for Fault {
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
