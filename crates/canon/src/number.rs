//! Numbers as they were written: exact integers of any size, and doubles.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A JSON number. `1` and `1.0` are different values, because they hash differently.
///
/// Invariant: [`Number::Big`] holds the canonical decimal text (no leading zero, no `+`, no `-0`) of an
/// integer that does not fit in an `i64`, so equality and hashing may compare texts.
#[derive(Debug, Clone)]
pub enum Number {
    Int(i64),
    Big(Box<str>),
    Float(f64),
}

impl Number {
    /// Reads the text of a JSON integer of any length. `None` when it is not one.
    #[must_use]
    pub fn integer(text: &str) -> Option<Number> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        Some(Number::of_integer_text(text))
    }

    /// [`Number::integer`] for a text that is known to be one.
    pub(crate) fn of_integer_text(text: &str) -> Number {
        text.parse().map_or_else(|_| Number::Big(text.into()), Number::Int)
    }

    /// Whether it was written as an integer.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        !matches!(self, Number::Float(_))
    }

    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Number::Int(value) = self { Some(*value) } else { None }
    }

    /// The nearest double.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        match self {
            Number::Int(value) => *value as f64,
            Number::Big(digits) => digits.parse().unwrap_or(f64::NAN),
            Number::Float(value) => *value,
        }
    }

    /// Compares by mathematical value, exactly: a large integer is never rounded on the way.
    /// `None` when a NaN takes part.
    #[must_use]
    pub fn compare(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Float(left), Number::Float(right)) => left.partial_cmp(right),
            (Number::Float(left), right) => right.compare_to_float(*left).map(Ordering::reverse),
            (left, Number::Float(right)) => left.compare_to_float(*right),
            (Number::Int(left), Number::Int(right)) => Some(left.cmp(right)),
            (left, right) => Some(compare_integers(left, right)),
        }
    }

    fn compare_to_float(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() {
            return None;
        }
        if float.is_infinite() {
            return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
        }
        // The whole parts decide; when they are equal, the sign of the fraction does. Printing a double
        // without a fraction gives all of its digits.
        let whole = Number::integer(&format!("{:.0}", float.trunc()))?;
        Some(self.compare(&whole)?.then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0))))
    }

    /// The digits after the sign, and whether there is one.
    fn digits(&self) -> (bool, Cow<'_, str>) {
        match self {
            Number::Big(text) => match text.strip_prefix('-') {
                Some(digits) => (true, digits.into()),
                None => (false, text.as_ref().into()),
            },
            Number::Int(value) => (*value < 0, value.unsigned_abs().to_string().into()),
            Number::Float(value) => (*value < 0.0, format!("{:.0}", value.abs()).into()),
        }
    }
}

fn compare_integers(left: &Number, right: &Number) -> Ordering {
    let ((left_negative, left), (right_negative, right)) = (left.digits(), right.digits());
    let magnitudes = left.len().cmp(&right.len()).then_with(|| left.cmp(&right));
    match (left_negative, right_negative) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => magnitudes,
        (true, true) => magnitudes.reverse(),
    }
}

/// Same kind and same value; two NaN are equal, `0.0` and `-0.0` are not, because they print differently.
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Number::Int(left), Number::Int(right)) => left == right,
            (Number::Big(left), Number::Big(right)) => left == right,
            (Number::Float(left), Number::Float(right)) => {
                left.to_bits() == right.to_bits() || (left.is_nan() && right.is_nan())
            }
            _ => false,
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number::Int(value)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Number::Big(value.to_string().into_boxed_str()), Number::Int)
    }
}

impl From<i128> for Number {
    fn from(value: i128) -> Self {
        i64::try_from(value).map_or_else(|_| Number::Big(value.to_string().into_boxed_str()), Number::Int)
    }
}

impl From<u128> for Number {
    fn from(value: u128) -> Self {
        i64::try_from(value).map_or_else(|_| Number::Big(value.to_string().into_boxed_str()), Number::Int)
    }
}
