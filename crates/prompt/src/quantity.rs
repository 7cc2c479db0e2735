//! The bounded numbers of a Prompt IR.
//!
//! Invariant: a value of these types lies in the range the specification gives it, and prints as it was
//! written, since `1` and `1.0` hash differently.

use stave_canon::{Number, Value};
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode, integer_schema};

/// How important a prompt is: 1 (lowest) to 10 (highest).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priority(u8);

/// The token ceiling of a compiled prompt: an integer of any size, not below 0.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBudget(Number);

/// A suggested sampling temperature: a finite number, not below 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Temperature(Number);

impl Priority {
    pub const LOWEST: Priority = Priority(1);
    pub const DEFAULT: Priority = Priority(5);
    pub const HIGHEST: Priority = Priority(10);

    /// `None` outside 1 to 10.
    #[must_use]
    pub fn new(priority: i64) -> Option<Priority> {
        u8::try_from(priority).ok().filter(|level| (1..=10).contains(level)).map(Priority)
    }

    #[must_use]
    pub fn get(self) -> u8 {
        self.0
    }
}

impl TokenBudget {
    /// `None` unless the number is an integer that is not negative.
    #[must_use]
    pub fn new(number: Number) -> Option<TokenBudget> {
        let negative = match &number {
            Number::Int(value) => *value < 0,
            Number::Big(digits) => digits.starts_with('-'),
            Number::Float(_) => return None,
        };
        (!negative).then_some(TokenBudget(number))
    }

    #[must_use]
    pub fn number(&self) -> &Number {
        &self.0
    }

    /// The budget as a count; one beyond any real prompt reads as the largest count there is.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        match &self.0 {
            Number::Int(value) => u64::try_from(*value).unwrap_or(0),
            Number::Big(digits) => digits.parse().unwrap_or(u64::MAX),
            Number::Float(_) => 0,
        }
    }
}

impl Temperature {
    /// `None` when the number is negative or not finite.
    #[must_use]
    pub fn new(number: Number) -> Option<Temperature> {
        let value = number.as_f64();
        let integer = number.is_integer();
        (value >= 0.0 && (integer || value.is_finite())).then_some(Temperature(number))
    }

    #[must_use]
    pub fn number(&self) -> &Number {
        &self.0
    }

    #[must_use]
    pub fn get(&self) -> f64 {
        self.0.as_f64()
    }
}

impl Default for Temperature {
    fn default() -> Self {
        Temperature(Number::Float(0.7))
    }
}

/// Reads a bounded number, or reports that it is not one or out of range.
fn read<N: ValueNode, T>(
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
    (kind, wanted): (&'static str, &str),
    bound: impl FnOnce(Number) -> Option<T>,
) -> Option<T> {
    let number = node.number().filter(|number| kind == "a number" || number.is_integer());
    let Some(number) = number else {
        reader.wrong_type(node, at, kind);
        return None;
    };
    let found = number.clone();
    let read = bound(number);
    if read.is_none() {
        let found = Value::Number(found).to_string();
        reader.fault(at, node.span(), FaultKind::OutOfRange { wanted: wanted.to_owned(), found });
    }
    read
}

impl Shape for Priority {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let bound = |number: Number| number.as_i64().and_then(Priority::new);
        read(node, at, reader, ("an integer", "between 1 and 10"), bound)
    }

    fn write(&self) -> Value {
        (*self).into()
    }

    fn schema(_: &mut Definitions) -> Value {
        integer_schema(i64::from(Priority::LOWEST.0), i64::from(Priority::HIGHEST.0))
    }
}

impl Shape for TokenBudget {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        read(node, at, reader, ("an integer", "at least 0"), TokenBudget::new)
    }

    fn write(&self) -> Value {
        self.into()
    }

    fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", Value::from("integer")), ("minimum", 0.into())])
    }
}

impl Shape for Temperature {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        read(node, at, reader, ("a number", "a finite number of at least 0"), Temperature::new)
    }

    fn write(&self) -> Value {
        self.into()
    }

    fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", Value::from("number")), ("minimum", 0.into())])
    }
}

impl From<u64> for TokenBudget {
    fn from(tokens: u64) -> Self {
        TokenBudget(Number::from(tokens))
    }
}

impl From<&TokenBudget> for Value {
    fn from(budget: &TokenBudget) -> Self {
        Value::Number(budget.0.clone())
    }
}

impl From<Priority> for Value {
    fn from(priority: Priority) -> Self {
        Value::from(u32::from(priority.0))
    }
}

impl From<&Temperature> for Value {
    fn from(temperature: &Temperature) -> Self {
        Value::Number(temperature.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_kept() {
        assert!(Priority::new(0).is_none() && Priority::new(11).is_none() && Priority::new(-246).is_none());
        assert_eq!(Priority::new(10), Some(Priority::HIGHEST));
        assert!(TokenBudget::new(Number::Int(-1)).is_none());
        assert!(TokenBudget::new(Number::Float(3000.0)).is_none());
        let huge = Number::integer("99999999999999999999999").unwrap();
        assert_eq!(TokenBudget::new(huge).map(|budget| budget.tokens()), Some(u64::MAX));
        assert!(Temperature::new(Number::Float(-0.1)).is_none());
        assert!(Temperature::new(Number::Float(f64::NAN)).is_none());
        assert!(Temperature::new(Number::Float(f64::INFINITY)).is_none());
        assert!(Temperature::new(Number::Int(0)).is_some());
    }
}
