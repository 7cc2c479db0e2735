//! Between [`Value`] and `serde`, for libraries that speak it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use thiserror::Error;

use crate::{Number, Object, Value};

/// A number that the other representation cannot hold exactly.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the number {0} cannot be represented exactly")]
pub struct LossyNumber(pub String);

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => Value::Number(
                // The text distinguishes an integer from a double, however the library stores its numbers.
                Number::integer(&number.to_string())
                    .unwrap_or_else(|| Number::Float(number.as_f64().unwrap_or(f64::NAN))),
            ),
            serde_json::Value::String(text) => Value::String(text),
            serde_json::Value::Array(items) => Value::Array(items.into_iter().map(Value::from).collect()),
            serde_json::Value::Object(object) => {
                Value::Object(object.into_iter().map(|(key, value)| (key, Value::from(value))).collect())
            }
        }
    }
}

impl Value {
    /// The value for a library that wants `serde_json`. Integers beyond 64 bits and non-finite doubles
    /// become the nearest thing it can hold; use [`Value::to_serde_exact`] where that would matter.
    #[must_use]
    pub fn to_serde(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(Number::Int(value)) => (*value).into(),
            Value::Number(number @ Number::Big(digits)) => digits
                .parse::<u64>()
                .map_or_else(|_| number.as_f64().clamp(f64::MIN, f64::MAX).into(), Into::into),
            Value::Number(Number::Float(value)) => (*value).into(),
            Value::String(text) => text.as_str().into(),
            Value::Array(items) => items.iter().map(Value::to_serde).collect(),
            Value::Object(object) => {
                object.iter().map(|(key, value)| (key.clone(), value.to_serde())).collect()
            }
        }
    }

    /// [`Value::to_serde`], refusing a number that would change.
    pub fn to_serde_exact(&self) -> Result<serde_json::Value, LossyNumber> {
        fn refuse(value: &Value) -> Result<(), LossyNumber> {
            match value {
                Value::Number(Number::Big(digits)) if digits.parse::<u64>().is_err() => {
                    Err(LossyNumber(digits.to_string()))
                }
                Value::Number(Number::Float(float)) if !float.is_finite() => {
                    Err(LossyNumber(crate::python_float(*float)))
                }
                Value::Array(items) => items.iter().try_for_each(refuse),
                Value::Object(object) => object.values().try_for_each(refuse),
                _ => Ok(()),
            }
        }
        refuse(self)?;
        Ok(self.to_serde())
    }
}

/// Integers beyond 128 bits are an error, since no serialiser could keep them.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(Number::Int(value)) => serializer.serialize_i64(*value),
            Value::Number(Number::Big(digits)) => {
                if let Ok(value) = digits.parse() {
                    serializer.serialize_u64(value)
                } else if let Ok(value) = digits.parse() {
                    serializer.serialize_i128(value)
                } else if let Ok(value) = digits.parse() {
                    serializer.serialize_u128(value)
                } else {
                    Err(serde::ser::Error::custom(LossyNumber(digits.to_string())))
                }
            }
            Value::Number(Number::Float(value)) => serializer.serialize_f64(*value),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            Value::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Number(Number::from(value)))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::Number(Number::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some((key, value)) = map.next_entry()? {
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        crate::parse(text).unwrap()
    }

    #[test]
    fn what_serde_json_can_hold_survives_the_way_there_and_back() {
        let value =
            value(r#"{"b":[1,-1,1.0,-0.0,18446744073709551615,9223372036854775808],"a":[null,true,"é"]}"#);
        assert_eq!(Value::from(value.to_serde_exact().unwrap()), value);
        assert_eq!(serde_json::from_str::<Value>(&serde_json::to_string(&value).unwrap()).unwrap(), value);
    }

    #[test]
    fn integers_beyond_the_other_side_are_refused_where_exactness_is_asked_for() {
        let beyond_u64 = value("18446744073709551616");
        assert_eq!(beyond_u64.to_serde_exact(), Err(LossyNumber("18446744073709551616".to_owned())));
        assert_eq!(serde_json::to_string(&beyond_u64).unwrap(), "18446744073709551616");
        assert!(serde_json::to_string(&value(&"9".repeat(40))).is_err());
        assert_eq!(value(&"9".repeat(400)).to_serde().as_f64(), Some(f64::MAX));
    }
}
