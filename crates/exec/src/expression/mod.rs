//! Expressions of a policy: Python's syntax, without Python.
//!
//! A text is parsed by a real Python parser and walked here. There are numbers, texts, lists, mappings,
//! comparisons, arithmetic, and a fixed list of functions; there are no loops, no definitions, no imports
//! and no way to anything outside. Invariant: evaluation ends, and its result is of bounded size, whatever
//! the text says.

mod analysis;
mod functions;
mod literal;
mod methods;
mod operators;
mod parse;
mod walk;

use stave_canon::{Object, Value};

pub(crate) use analysis::{ExpressionFaultKind, KnownNames, KnownValue, analyze};
pub use functions::NAMES as FUNCTIONS;
pub use literal::literal;
pub use parse::check;

/// The longest text that is taken for an expression.
pub const MAX_TEXT: usize = 8 * 1024;

/// How many values a result may hold, each text counting by its length.
pub(crate) const MAX_WEIGHT: usize = 1024 * 1024;

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    #[error("`{text}` cannot be read as an expression: {reason}")]
    Syntax { text: String, reason: String },
    #[error("`{text}`: {reason}")]
    Evaluation { text: String, reason: String },
}

/// Where random numbers come from: each is at least 0 and below 1.
pub trait Random {
    fn next(&mut self) -> Option<f64>;
}

impl<F: FnMut() -> Option<f64>> Random for F {
    fn next(&mut self) -> Option<f64> {
        self()
    }
}

/// A value inside an evaluation. The fields of an arm are reached with a dot; those of other mappings are
/// reached with brackets, as in Python.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    Plain(Value),
    Arm(Object),
}

impl Datum {
    #[must_use]
    pub fn into_value(self) -> Value {
        match self {
            Datum::Plain(value) => value,
            Datum::Arm(fields) => Value::Object(fields),
        }
    }
}

/// The names an expression sees.
pub type Scope = indexmap::IndexMap<String, Datum>;

/// Evaluates a text: a literal is itself, a name is its value, anything else is computed.
pub fn evaluate(text: &str, scope: &Scope, random: &mut dyn Random) -> Result<Datum, ExpressionError> {
    let text = text.trim();
    if let Some(value) = literal(text) {
        return Ok(Datum::Plain(value));
    }
    if let Some(datum) = scope.get(text) {
        return Ok(datum.clone());
    }
    let expression = parse::expression(text)?;
    let mut walk = walk::Walk { scope, random };
    let datum = walk
        .evaluate(&expression)
        .map_err(|reason| ExpressionError::Evaluation { text: text.to_owned(), reason })?;
    Ok(datum)
}

/// Python's truth of a value.
#[must_use]
pub fn is_true(datum: &Datum) -> bool {
    match datum {
        Datum::Arm(_) | Datum::Plain(Value::Bool(true)) => true,
        Datum::Plain(Value::Null | Value::Bool(false)) => false,
        Datum::Plain(Value::Number(number)) => number.as_f64() != 0.0,
        Datum::Plain(Value::String(text)) => !text.is_empty(),
        Datum::Plain(Value::Array(items)) => !items.is_empty(),
        Datum::Plain(Value::Object(object)) => !object.is_empty(),
    }
}

/// How much a value holds.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len(),
        Value::Array(items) => 1 + items.iter().map(weight).sum::<usize>(),
        Value::Object(object) => {
            1 + object.iter().map(|(key, value)| key.len() + weight(value)).sum::<usize>()
        }
        _ => 1,
    }
}
