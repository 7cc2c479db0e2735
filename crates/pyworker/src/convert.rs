//! Between JSON values and the interpreter's objects.

use monty_types::MontyObject;
use stave_canon::{Number, Object, Value};
use stave_script::Limit;
use stave_script::protocol::{JobFailure, WorkerLimits};

/// Bits of the largest integer that leaves the sandbox: 4,300 decimal digits, as in Python itself.
const MAX_INTEGER_BITS: u64 = 14_284;

pub(crate) fn to_python(value: Value) -> MontyObject {
    match value {
        Value::Null => MontyObject::None,
        Value::Bool(value) => MontyObject::Bool(value),
        Value::Number(Number::Int(value)) => MontyObject::Int(value),
        Value::Number(Number::Big(digits)) => {
            digits.parse().map_or_else(|_| MontyObject::String(digits.into()), MontyObject::BigInt)
        }
        Value::Number(Number::Float(value)) => MontyObject::Float(value),
        Value::String(text) => MontyObject::String(text),
        Value::Array(items) => MontyObject::List(items.into_iter().map(to_python).collect()),
        Value::Object(object) => MontyObject::dict(pairs(object)),
    }
}

/// An object's members as the interpreter wants them.
pub(crate) fn pairs(object: Object) -> Vec<(MontyObject, MontyObject)> {
    object.into_iter().map(|(key, value)| (MontyObject::String(key), to_python(value))).collect()
}

/// A Python value as JSON. `place` says in a message what the value is, such as "the result".
pub(crate) fn to_json(object: MontyObject, place: &str, bounds: &WorkerLimits) -> Result<Value, JobFailure> {
    let mut writer =
        Writer { bytes_left: bounds.output_bytes, depth_left: bounds.depth, place: place.to_owned() };
    writer.value(object)
}

struct Writer {
    bytes_left: usize,
    depth_left: usize,
    /// The path to the value under way, in the words of a message.
    place: String,
}

impl Writer {
    fn value(&mut self, object: MontyObject) -> Result<Value, JobFailure> {
        let size = match &object {
            MontyObject::String(text) => text.len() + 2,
            _ => 4,
        };
        self.bytes_left = self
            .bytes_left
            .checked_sub(size)
            .ok_or_else(|| limit(Limit::Output, format!("{} is larger than allowed", self.place)))?;
        match object {
            MontyObject::None => Ok(Value::Null),
            MontyObject::Bool(value) => Ok(Value::Bool(value)),
            MontyObject::Int(value) => Ok(Value::from(value)),
            MontyObject::BigInt(value) => {
                if value.bits() > MAX_INTEGER_BITS {
                    return Err(limit(
                        Limit::Output,
                        format!("{} is an integer of more than 4300 digits", self.place),
                    ));
                }
                Number::integer(&value.to_string()).map(Value::Number).ok_or_else(|| self.not_json("int"))
            }
            MontyObject::Float(value) if value.is_finite() => Ok(Value::from(value)),
            MontyObject::Float(value) => {
                let name = if value.is_nan() { "float('nan')" } else { "float('inf')" };
                Err(self.not_json(name))
            }
            MontyObject::String(text) => Ok(Value::String(text)),
            MontyObject::List(items) | MontyObject::Tuple(items) => self.array(items),
            MontyObject::NamedTuple { values, .. } => self.array(values),
            MontyObject::Dict(pairs) => {
                self.enter()?;
                let mut object = Object::with_capacity(pairs.len());
                for (key, value) in pairs {
                    let MontyObject::String(key) = key else {
                        self.place = format!("a key of {}", self.place);
                        return Err(self.not_json(key.type_name()));
                    };
                    self.bytes_left = self.bytes_left.saturating_sub(key.len());
                    let outer = self.place.len();
                    self.place.push_str(&format!("[{key:?}]"));
                    let value = self.value(value)?;
                    self.place.truncate(outer);
                    object.insert(key, value);
                }
                self.depth_left += 1;
                Ok(Value::Object(object))
            }
            MontyObject::ClassInstance(instance) => Err(self.not_json(&instance.class_type.name)),
            MontyObject::Cycle(..) => Err(limit(Limit::Depth, format!("{} contains itself", self.place))),
            MontyObject::Repr(repr) => {
                let name = if repr.contains("coroutine") { "coroutine" } else { &repr };
                Err(self.not_json(name))
            }
            other => Err(self.not_json(other.type_name())),
        }
    }

    fn array(&mut self, items: Vec<MontyObject>) -> Result<Value, JobFailure> {
        self.enter()?;
        let mut array = Vec::with_capacity(items.len());
        let outer = self.place.len();
        for (index, item) in items.into_iter().enumerate() {
            self.place.push_str(&format!("[{index}]"));
            array.push(self.value(item)?);
            self.place.truncate(outer);
        }
        self.depth_left += 1;
        Ok(Value::Array(array))
    }

    fn enter(&mut self) -> Result<(), JobFailure> {
        self.depth_left = self
            .depth_left
            .checked_sub(1)
            .ok_or_else(|| limit(Limit::Depth, format!("{} is nested too deeply", self.place)))?;
        Ok(())
    }

    fn not_json(&self, type_name: &str) -> JobFailure {
        JobFailure::NotJson { type_name: type_name.to_owned(), place: self.place.clone() }
    }
}

fn limit(limit: Limit, detail: String) -> JobFailure {
    JobFailure::LimitExceeded { limit, detail, range: None }
}
