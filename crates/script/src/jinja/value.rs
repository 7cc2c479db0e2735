//! Between [`stave_canon::Value`] and the template engine's own values, without losing a digit.

use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value as Engine, ValueKind};
use stave_canon::{Number, Value};

/// How deep a value is followed when it is printed.
const MAX_DEPTH: usize = stave_canon::MAX_DEPTH;

/// An integer that does not fit in 128 bits. It prints, compares as text and takes no part in sums.
#[derive(Debug, PartialEq, Eq)]
struct LargeInteger(Box<str>);

impl Object for LargeInteger {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn render(self: &Arc<Self>, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

pub(super) fn to_engine(value: &Value) -> Engine {
    match value {
        Value::Null => Engine::from(()),
        Value::Bool(value) => Engine::from(*value),
        Value::Number(Number::Int(value)) => Engine::from(*value),
        Value::Number(Number::Big(digits)) => digits
            .parse::<i128>()
            .map_or_else(|_| Engine::from_object(LargeInteger(digits.clone())), Engine::from),
        Value::Number(Number::Float(value)) => Engine::from(*value),
        Value::String(text) => Engine::from(text.as_str()),
        Value::Array(items) => items.iter().map(to_engine).collect(),
        Value::Object(object) => object_to_engine(object),
    }
}

pub(super) fn object_to_engine(object: &stave_canon::Object) -> Engine {
    Engine::from_pairs(object.iter().map(|(key, value)| (key.as_str(), to_engine(value))))
}

/// The value as JSON; `None` for what has no JSON form.
pub(super) fn from_engine(value: &Engine, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Some(Value::Null),
        ValueKind::Bool => Some(Value::Bool(value.is_true())),
        ValueKind::Number => number(value).map(Value::Number),
        ValueKind::String => value.as_str().map(Value::from),
        ValueKind::Seq | ValueKind::Iterable => value
            .try_iter()
            .ok()?
            .map(|item| from_engine(&item, depth + 1))
            .collect::<Option<Vec<_>>>()
            .map(Value::Array),
        ValueKind::Map => {
            let mut object = stave_canon::Object::new();
            for key in value.try_iter().ok()? {
                let item = value.get_item(&key).ok()?;
                let name = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                object.insert(name, from_engine(&item, depth + 1)?);
            }
            Some(Value::Object(object))
        }
        _ => {
            let large = value.downcast_object_ref::<LargeInteger>()?;
            Some(Value::Number(Number::Big(large.0.clone())))
        }
    }
}

pub(super) fn number(value: &Engine) -> Option<Number> {
    if value.is_integer() {
        return Number::integer(&value.to_string());
    }
    f64::try_from(value.clone()).ok().map(Number::Float)
}
