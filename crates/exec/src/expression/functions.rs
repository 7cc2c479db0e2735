//! The functions that an expression can call.

use std::cmp::Ordering;

use stave_canon::{Number, Value};

use super::Random;
use super::operators::{numeric, order};

type Result<T> = std::result::Result<T, String>;

/// Their names.
pub const NAMES: [&str; 10] =
    ["abs", "coalesce", "first_numeric", "float", "int", "len", "max", "min", "random", "round"];

pub(super) fn known(name: &str) -> Result<()> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(format!("there is no function `{name}`; there are {}", NAMES.join(", ")))
}

pub(super) fn call(name: &str, arguments: &[Value], random: &mut dyn Random) -> Result<Value> {
    match (name, arguments) {
        ("coalesce", arguments) => {
            Ok(arguments.iter().find(|value| !is_empty(value)).cloned().unwrap_or_default())
        }
        ("first_numeric", [values]) => Ok(first_numeric(values)),
        ("random", [Value::Array(items)]) => choose(items, random),
        ("random", [other]) => Err(format!("`random` takes a list, and it is {}", other.kind())),
        ("min", arguments) => extreme(arguments, Ordering::Less),
        ("max", arguments) => extreme(arguments, Ordering::Greater),
        ("abs", [value]) => match numeric(value) {
            Some(Number::Int(integer)) => integer.checked_abs().map(Value::from).ok_or_else(out_of_range),
            Some(number) => Ok(number.as_f64().abs().into()),
            None => Err(format!("`abs` of {} is not defined", value.kind())),
        },
        ("float", [value]) => to_float(value).map(Value::from).ok_or_else(|| not_a_number("float", value)),
        ("int", [value]) => to_integer(value),
        ("len", [value]) => match value {
            Value::String(text) => Ok(text.chars().count().into()),
            Value::Array(items) => Ok(items.len().into()),
            Value::Object(object) => Ok(object.len().into()),
            other => Err(format!("{} has no length", other.kind())),
        },
        ("round", [value] | [value, Value::Null]) => match numeric(value) {
            Some(Number::Float(float)) => whole(float.round_ties_even()),
            Some(number) => Ok(Value::Number(number)),
            None => Err(not_a_number("round", value)),
        },
        ("round", [value, Value::Number(Number::Int(digits))]) => round(value, *digits),
        ("round", [value, Value::Bool(digits)]) => round(value, i64::from(*digits)),
        (name, arguments) => Err(format!("`{name}` does not take {} arguments like these", arguments.len())),
    }
}

/// What `coalesce` passes over.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

/// The first value that is a number or the text of one, as a float.
fn first_numeric(values: &Value) -> Value {
    let found = match values {
        Value::Object(object) => object.values().find_map(to_float),
        Value::Array(items) => items.iter().find_map(to_float),
        _ => None,
    };
    found.map_or(Value::Null, Value::from)
}

fn choose(items: &[Value], random: &mut dyn Random) -> Result<Value> {
    if items.is_empty() {
        return Err("`random` has nothing to choose from".to_owned());
    }
    let draw = random.next().ok_or("there are no random numbers left")?;
    let index = (draw.clamp(0.0, 1.0) * items.len() as f64) as usize;
    items.get(index.min(items.len() - 1)).cloned().ok_or_else(out_of_range)
}

fn extreme(arguments: &[Value], wanted: Ordering) -> Result<Value> {
    let items = match arguments {
        [Value::Array(items)] => items.as_slice(),
        [other] if numeric(other).is_some() => {
            return Err(format!("one {} has no largest item", other.kind()));
        }
        items => items,
    };
    let mut best = items.first().ok_or("there is nothing to choose from")?;
    for item in items.iter().skip(1) {
        if order(item, best)? == Some(wanted) {
            best = item;
        }
    }
    Ok(best.clone())
}

pub(super) fn to_float(value: &Value) -> Option<f64> {
    let float = match value {
        Value::String(text) => parse_float(text.trim())?,
        value => numeric(value)?.as_f64(),
    };
    float.is_finite().then_some(float)
}

/// The text of a decimal number; words such as `inf` are not numbers that JSON can hold.
fn parse_float(text: &str) -> Option<f64> {
    let digits = text.replace('_', "");
    let is_number = digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_number { digits.parse().ok() } else { None }
}

fn to_integer(value: &Value) -> Result<Value> {
    match value {
        Value::String(text) => {
            let number = Number::integer(text.trim().trim_start_matches('+'));
            number.map(Value::Number).ok_or_else(|| not_a_number("int", value))
        }
        value => match numeric(value) {
            Some(Number::Float(float)) => whole(float.trunc()),
            Some(number) => Ok(Value::Number(number)),
            None => Err(not_a_number("int", value)),
        },
    }
}

fn round(value: &Value, digits: i64) -> Result<Value> {
    let number = numeric(value).ok_or_else(|| not_a_number("round", value))?;
    match number {
        Number::Float(float) if digits >= 0 => {
            let digits = usize::try_from(digits.min(300)).unwrap_or(300);
            format!("{float:.digits$}").parse::<f64>().map(Value::from).map_err(|_| out_of_range())
        }
        number if digits >= 0 => Ok(Value::Number(number)),
        number => {
            let unit = 10_f64.powi(i32::try_from((-digits).min(300)).unwrap_or(300));
            let rounded = (number.as_f64() / unit).round_ties_even() * unit;
            if number.is_integer() { whole(rounded) } else { Ok(rounded.into()) }
        }
    }
}

/// A float without a fraction as a whole number.
fn whole(float: f64) -> Result<Value> {
    if !float.is_finite() {
        return Err(out_of_range());
    }
    Number::integer(&format!("{:.0}", float + 0.0)).map(Value::Number).ok_or_else(out_of_range)
}

fn not_a_number(function: &str, value: &Value) -> String {
    format!("`{function}` cannot make a number of {value}")
}

fn out_of_range() -> String {
    "the number is out of range".to_owned()
}
