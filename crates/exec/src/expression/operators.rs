//! Arithmetic, comparison and access, with Python's results.

use std::cmp::Ordering;

use ruff_python_ast::{CmpOp, Operator};
use stave_canon::{Number, Value};

use super::{MAX_WEIGHT, weight};

type Result<T> = std::result::Result<T, String>;

/// The value of a number or a boolean, which counts as 0 or 1.
pub(super) fn numeric(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::Bool(flag) => Some(Number::Int(i64::from(*flag))),
        _ => None,
    }
}

pub(super) fn binary(left: &Value, operator: Operator, right: &Value) -> Result<Value> {
    match (left, operator, right) {
        (Value::String(left), Operator::Add, Value::String(right)) => Ok(format!("{left}{right}").into()),
        (Value::Array(left), Operator::Add, Value::Array(right)) => {
            Ok(Value::Array(left.iter().chain(right).cloned().collect()))
        }
        (Value::String(text), Operator::Mult, count) | (count, Operator::Mult, Value::String(text)) => {
            let count = repetitions(count, text.len())?;
            Ok(text.repeat(count).into())
        }
        (Value::Array(items), Operator::Mult, count) | (count, Operator::Mult, Value::Array(items)) => {
            let count = repetitions(count, items.iter().map(weight).sum())?;
            Ok(Value::Array(items.iter().cycle().take(items.len() * count).cloned().collect()))
        }
        _ => match (numeric(left), numeric(right)) {
            (Some(left), Some(right)) => arithmetic(&left, operator, &right).map(Value::Number),
            _ => {
                Err(format!("`{}` does not work on {} and {}", operator.as_str(), left.kind(), right.kind()))
            }
        },
    }
}

fn repetitions(count: &Value, length: usize) -> Result<usize> {
    let Some(Number::Int(count)) = numeric(count) else {
        return Err(format!("`*` repeats a whole number of times, and this is {}", count.kind()));
    };
    let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    if count.saturating_mul(length) > MAX_WEIGHT {
        return Err("the value is too large".to_owned());
    }
    Ok(count)
}

fn arithmetic(left: &Number, operator: Operator, right: &Number) -> Result<Number> {
    if let (Number::Int(left), Number::Int(right)) = (left, right)
        && let Some(result) = integers(*left, operator, *right)
    {
        return result;
    }
    let (left, right) = (left.as_f64(), right.as_f64());
    let zero = || if right == 0.0 { Err("division by zero".to_owned()) } else { Ok(()) };
    let result = match operator {
        Operator::Add => left + right,
        Operator::Sub => left - right,
        Operator::Mult => left * right,
        Operator::Div => {
            zero()?;
            left / right
        }
        Operator::FloorDiv => {
            zero()?;
            // The remainder is exact, and the quotient follows from it.
            ((left - remainder(left, right)) / right).round()
        }
        Operator::Mod => {
            zero()?;
            remainder(left, right)
        }
        Operator::Pow => left.powf(right),
        other => return Err(format!("`{}` is not available here", other.as_str())),
    };
    if !result.is_finite() {
        return Err("the number is out of range".to_owned());
    }
    Ok(Number::Float(result))
}

/// What is left of a division, with the sign of the divisor.
fn remainder(left: f64, right: f64) -> f64 {
    let rest = left % right;
    if rest != 0.0 && (rest < 0.0) != (right < 0.0) { rest + right } else { rest }
}

/// Whole numbers stay whole. `None` where the result is a float.
fn integers(left: i64, operator: Operator, right: i64) -> Option<Result<Number>> {
    let out_of_range = || "the number is out of range".to_owned();
    let result = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Sub => left.checked_sub(right),
        Operator::Mult => left.checked_mul(right),
        Operator::FloorDiv | Operator::Mod if right == 0 => return Some(Err("division by zero".to_owned())),
        Operator::FloorDiv => floor_division(left, right),
        Operator::Mod => floor_division(left, right)
            .and_then(|quotient| quotient.checked_mul(right))
            .and_then(|product| left.checked_sub(product)),
        Operator::Pow => match u32::try_from(right) {
            Ok(exponent) => left.checked_pow(exponent),
            Err(_) => return None,
        },
        _ => return None,
    };
    Some(result.map(Number::Int).ok_or_else(out_of_range))
}

fn floor_division(left: i64, right: i64) -> Option<i64> {
    let quotient = left.checked_div(right)?;
    let is_inexact = left.checked_rem(right)? != 0;
    if is_inexact && (left < 0) != (right < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

pub(super) fn compare(left: &Value, operator: CmpOp, right: &Value) -> Result<bool> {
    Ok(match operator {
        CmpOp::Eq => equal(left, right),
        CmpOp::NotEq => !equal(left, right),
        CmpOp::Is => identical(left, right),
        CmpOp::IsNot => !identical(left, right),
        CmpOp::In => contains(right, left)?,
        CmpOp::NotIn => !contains(right, left)?,
        CmpOp::Lt => order(left, right)? == Some(Ordering::Less),
        CmpOp::LtE => matches!(order(left, right)?, Some(Ordering::Less | Ordering::Equal)),
        CmpOp::Gt => order(left, right)? == Some(Ordering::Greater),
        CmpOp::GtE => matches!(order(left, right)?, Some(Ordering::Greater | Ordering::Equal)),
    })
}

/// Equality by value: `1` equals `1.0` and `True`.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (numeric(left), numeric(right)) {
        (Some(left), Some(right)) => left.compare(&right) == Some(Ordering::Equal),
        (None, None) => match (left, right) {
            (Value::Array(left), Value::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
            }
            (Value::Object(left), Value::Object(right)) => {
                let same = |(key, value)| right.get::<String>(key).is_some_and(|other| equal(value, other));
                left.len() == right.len() && left.iter().all(same)
            }
            (left, right) => left == right,
        },
        _ => false,
    }
}

/// Only `None`, `True` and `False` have an identity that a policy can rely on.
fn identical(left: &Value, right: &Value) -> bool {
    matches!((left, right), (Value::Null, Value::Null))
        || matches!((left, right), (Value::Bool(left), Value::Bool(right)) if left == right)
}

fn contains(container: &Value, item: &Value) -> Result<bool> {
    match (container, item) {
        (Value::Array(items), item) => Ok(items.iter().any(|other| equal(other, item))),
        (Value::String(text), Value::String(part)) => Ok(text.contains(part.as_str())),
        (Value::Object(object), Value::String(key)) => Ok(object.contains_key(key)),
        (Value::Object(_), _) => Ok(false),
        (container, item) => Err(format!("{} cannot be in {}", item.kind(), container.kind())),
    }
}

/// `None` when a NaN takes part.
pub(super) fn order(left: &Value, right: &Value) -> Result<Option<Ordering>> {
    if let (Some(left), Some(right)) = (numeric(left), numeric(right)) {
        return Ok(left.compare(&right));
    }
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(Some(left.chars().cmp(right.chars()))),
        (Value::Array(left), Value::Array(right)) => {
            for (left, right) in left.iter().zip(right) {
                if !equal(left, right) {
                    return order(left, right);
                }
            }
            Ok(Some(left.len().cmp(&right.len())))
        }
        (left, right) => Err(format!("{} and {} have no order", left.kind(), right.kind())),
    }
}

pub(super) fn index(value: &Value, index: &Value) -> Result<Value> {
    match (value, index) {
        (Value::Object(object), Value::String(key)) => {
            object.get(key).cloned().ok_or_else(|| format!("there is no key `{key}`"))
        }
        (Value::Array(items), index) => {
            let position = position(index, items.len())?;
            items.get(position).cloned().ok_or_else(|| "the index is out of range".to_owned())
        }
        (Value::String(text), index) => {
            let characters: Vec<char> = text.chars().collect();
            let position = position(index, characters.len())?;
            let character = characters.get(position).ok_or("the index is out of range")?;
            Ok(character.to_string().into())
        }
        (value, index) => Err(format!("{} has no item {}", value.kind(), index.kind())),
    }
}

fn position(index: &Value, length: usize) -> Result<usize> {
    let Some(Number::Int(index)) = numeric(index) else {
        return Err(format!("an index must be a whole number, and it is {}", index.kind()));
    };
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let index = if index < 0 { index.saturating_add(length) } else { index };
    usize::try_from(index).map_err(|_| "the index is out of range".to_owned())
}

pub(super) fn slice(value: &Value, lower: Option<&Value>, upper: Option<&Value>) -> Result<Value> {
    let bounds = |length: usize| -> Result<(usize, usize)> {
        let lower = lower.map_or(Ok(0), |bound| boundary(bound, length, 0))?;
        let upper = upper.map_or(Ok(length), |bound| boundary(bound, length, length))?;
        Ok((lower, upper.max(lower)))
    };
    match value {
        Value::Array(items) => {
            let (lower, upper) = bounds(items.len())?;
            Ok(Value::Array(items.get(lower..upper).unwrap_or_default().to_vec()))
        }
        Value::String(text) => {
            let characters: Vec<char> = text.chars().collect();
            let (lower, upper) = bounds(characters.len())?;
            Ok(characters.get(lower..upper).unwrap_or_default().iter().collect::<String>().into())
        }
        other => Err(format!("{} cannot be sliced", other.kind())),
    }
}

/// A bound of a slice, moved into the range of what is sliced.
fn boundary(bound: &Value, length: usize, absent: usize) -> Result<usize> {
    match bound {
        Value::Null => Ok(absent),
        Value::Number(Number::Int(bound)) => {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let bound = if *bound < 0 { bound.saturating_add(length) } else { *bound };
            Ok(usize::try_from(bound.clamp(0, length)).unwrap_or(0))
        }
        other => Err(format!("a bound must be a whole number, and it is {}", other.kind())),
    }
}
