//! Values at ports: type checks, schema checks and the casts of the type table.
//!
//! Invariant: nothing is lost on the way through a port. A value that does not fit is a failure, never
//! its first element, its string form or a default.

use stave_canon::{Number, Object, Value, js_float};
use stave_diag::codes::run as codes;
use stave_exec::dataflow::{Cast, PortType, StepPort};
use stave_schema::{SchemaFault, SchemaValidator};

use crate::steps::StepOutput;
use crate::{Failure, failure::FailureKind};

/// A port with its schema compiled.
#[derive(Debug)]
pub struct CheckedPort {
    pub port: StepPort,
    validator: Option<SchemaValidator>,
}

/// On which side of an edge a value is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

impl CheckedPort {
    /// Admits and compiles the port's schema.
    pub fn new(port: StepPort) -> Result<CheckedPort, Failure> {
        let validator = port.schema.as_ref().map(compile_schema).transpose()?;
        Ok(CheckedPort { port, validator })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.port.name
    }

    /// Whether the port carries plain text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self.port.port_type, PortType::String | PortType::Document)
    }

    /// Whether a value is checked so quickly that it may be done on a thread that serves others.
    pub(crate) fn is_quick(&self, value: &Value) -> bool {
        self.validator.as_ref().is_none_or(|validator| validator.is_quick(value))
    }

    /// Refuses a value that has the wrong type or violates the schema.
    pub fn check(&self, side: Side, value: &Value) -> Result<(), Failure> {
        let (code, word) = match side {
            Side::Input => (codes::INVALID_INPUT, "input"),
            Side::Output => (codes::INVALID_OUTPUT, "output"),
        };
        if let Err(reason) = fits(self.port.port_type, value) {
            let message = format!("{word} `{}` {reason}", self.port.name);
            return Err(Failure::new(code, FailureKind::Value, message));
        }
        let Some(validator) = &self.validator else { return Ok(()) };
        let violations = validator.violations(value);
        if violations.is_empty() {
            return Ok(());
        }
        let message = format!("{word} `{}` violates its schema: {}", self.port.name, violations.join("; "));
        Err(Failure::new(code, FailureKind::Value, message))
    }
}

/// Checks the values of ports.
pub(crate) fn check_all(side: Side, ports: &[CheckedPort], values: &Object) -> Result<(), Failure> {
    let mut present = ports.iter().filter_map(|port| values.get(port.name()).map(|value| (port, value)));
    present.try_for_each(|(port, value)| port.check(side, value))
}

/// Whether values that were kept still are what the ports give.
pub(crate) fn all_fit(ports: &[CheckedPort], values: &Object) -> bool {
    let is_there = |port: &CheckedPort| port.port.optional || values.contains_key(port.name());
    ports.iter().all(is_there) && check_all(Side::Output, ports, values).is_ok()
}

/// Whether the values of ports are checked so quickly that it may be done on a thread that serves others.
pub(crate) fn are_quick(ports: &[CheckedPort], values: &Object) -> bool {
    ports.iter().all(|port| values.get(port.name()).is_none_or(|value| port.is_quick(value)))
}

/// [`are_quick`] for what a step produced.
pub(crate) fn is_quick_result(ports: &[CheckedPort], produced: &StepOutput) -> bool {
    match (produced, ports) {
        (StepOutput::Ports(values), _) => are_quick(ports, values),
        (StepOutput::Whole(value), [sole]) => sole.is_quick(value),
        (StepOutput::Whole(Value::Object(members)), _) => are_quick(ports, members),
        (StepOutput::Whole(_), _) => true,
    }
}

/// How deep a result may nest. Each step could wrap what it is given, so without a bound a chain of steps makes a
/// value that overflows the stack of code that walks it. A record of the journal wraps a result a few levels more, and
/// has to stay below what a reader takes.
const DEEPEST_VALUE: usize = stave_canon::MAX_DEPTH - 32;

/// Refuses a result that nests too deeply.
pub(crate) fn check_depth(value: &Value) -> Result<(), Failure> {
    if !is_deeper(value, DEEPEST_VALUE) {
        return Ok(());
    }
    let message = format!("the result nests deeper than {DEEPEST_VALUE} levels");
    Err(Failure::new(codes::INVALID_OUTPUT, FailureKind::Value, message))
}

/// Whether a value has more levels than these. It looks no deeper than that.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let inner = |value: &Value| levels.checked_sub(1).is_none_or(|levels| is_deeper(value, levels));
    match value {
        Value::Array(items) => items.iter().any(inner),
        Value::Object(members) => members.values().any(inner),
        _ => false,
    }
}

/// Admits and compiles a JSON Schema of the flow. The checker has done so before; a document from elsewhere may not
/// have been checked.
pub(crate) fn compile_schema(schema: &Value) -> Result<SchemaValidator, Failure> {
    SchemaValidator::new(schema).map_err(|fault| bad_schema(&fault))
}

pub(crate) fn bad_schema(fault: &SchemaFault) -> Failure {
    let message = format!("a schema cannot be used: {fault}");
    Failure::new(codes::BAD_DOCUMENT, FailureKind::Configuration, message)
}

/// Whether a value has a port's type; otherwise how to finish the sentence "input `x` …".
fn fits(port_type: PortType, value: &Value) -> Result<(), String> {
    let wrong = || Err(format!("is {}, not {}", article(value.kind()), article(port_type.word())));
    match (port_type, value) {
        (PortType::String | PortType::Document, Value::String(_))
        | (PortType::Boolean, Value::Bool(_))
        | (PortType::Object, Value::Object(_))
        | (PortType::Array, Value::Array(_)) => Ok(()),
        (PortType::Number, Value::Number(number)) if number.as_f64().is_finite() || number.is_integer() => {
            Ok(())
        }
        (PortType::Table, Value::Array(rows)) => {
            match rows.iter().position(|row| row.as_object().is_none()) {
                Some(index) => Err(format!("is not a table: row {index} is not an object")),
                None => uniform(rows),
            }
        }
        (PortType::Embedding, Value::Array(numbers)) => {
            let finite = |value: &Value| value.as_f64().is_some_and(f64::is_finite);
            match numbers.iter().position(|number| !finite(number)) {
                Some(index) => Err(format!("is not an embedding: item {index} is not a finite number")),
                None => Ok(()),
            }
        }
        _ => wrong(),
    }
}

/// All rows of a table have the same columns, in any order.
fn uniform(rows: &[Value]) -> Result<(), String> {
    let columns = |row: &Value| row.as_object().map_or(0, Object::len);
    let Some(first) = rows.first().and_then(Value::as_object) else { return Ok(()) };
    let differs = |row: &Value| columns(row) != first.len() || first.keys().any(|key| row.get(key).is_none());
    match rows.iter().position(differs) {
        Some(index) => Err(format!("is not a table: row {index} has other columns than row 0")),
        None => Ok(()),
    }
}

/// A word with its article; `null` has none.
pub(crate) fn article(word: &str) -> String {
    match word.chars().next() {
        Some('a' | 'e' | 'i' | 'o' | 'u') => format!("an {word}"),
        _ if word == "null" => word.to_owned(),
        _ => format!("a {word}"),
    }
}

/// Converts a value along an edge as the type table asks.
pub(crate) fn cast(cast: Cast, value: Value) -> Result<Value, Failure> {
    match cast {
        Cast::Text => text(&value).map(Value::String),
        Cast::SingleRow => match value {
            Value::Array(mut rows) if rows.len() == 1 => Ok(rows.remove(0)),
            Value::Array(rows) => {
                let message = format!("a table of {} rows cannot become one object", rows.len());
                Err(Failure::new(codes::NOT_SINGLE_ROW, FailureKind::Value, message))
            }
            other => Ok(other),
        },
    }
}

/// A scalar as text: numbers in their shortest JSON form, an integral one without a fraction.
pub(crate) fn text(value: &Value) -> Result<String, Failure> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Number(Number::Int(integer)) => Ok(integer.to_string()),
        Value::Number(Number::Big(digits)) => Ok(digits.to_string()),
        Value::Number(Number::Float(float)) if float.is_finite() => Ok(js_float(*float)),
        other => {
            let message = format!("{} cannot become text", article(other.kind()));
            Err(Failure::new(codes::INTERPOLATION_FAILED, FailureKind::Value, message))
        }
    }
}
