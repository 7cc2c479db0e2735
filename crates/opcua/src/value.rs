//! Values of plants as values of flows, and back.
//!
//! Invariant: a value is written as exactly what the flow gave, or not at all; nothing is rounded or cut.

use opcua::types::{Array, DateTime, Guid, UAString, Variant, VariantScalarTypeId as Type};
use stave_canon::Value;
use stave_runtime::opcua::OpcuaFault;

/// The value for a flow; `None` for types that have no plain form.
pub(crate) fn plain(variant: &Variant) -> Option<Value> {
    Some(match variant {
        Variant::Empty => Value::Null,
        Variant::Boolean(flag) => (*flag).into(),
        Variant::SByte(number) => i64::from(*number).into(),
        Variant::Byte(number) => i64::from(*number).into(),
        Variant::Int16(number) => i64::from(*number).into(),
        Variant::UInt16(number) => i64::from(*number).into(),
        Variant::Int32(number) => i64::from(*number).into(),
        Variant::UInt32(number) => i64::from(*number).into(),
        Variant::Int64(number) => (*number).into(),
        Variant::UInt64(number) => (*number).into(),
        // The shortest digits of a single-precision number are what its sensor shows.
        Variant::Float(number) => {
            number.to_string().parse::<f64>().ok().filter(|number| number.is_finite())?.into()
        }
        Variant::Double(number) => Some(*number).filter(|number| number.is_finite())?.into(),
        Variant::String(text) => text.value().clone().into(),
        Variant::DateTime(at) => at.to_rfc3339().into(),
        Variant::Guid(guid) => guid.to_string().into(),
        Variant::StatusCode(status) => status.to_string().into(),
        Variant::QualifiedName(name) => name.name.as_ref().into(),
        Variant::LocalizedText(text) => text.text.as_ref().into(),
        Variant::NodeId(id) => id.to_string().into(),
        Variant::Variant(inner) => plain(inner)?,
        Variant::Array(array) => Value::Array(array.values.iter().map(plain).collect::<Option<_>>()?),
        _ => return None,
    })
}

/// The type of this name.
pub(crate) fn kind(name: &str) -> Result<Type, OpcuaFault> {
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        OpcuaFault::BadArgument(format!("there is no type `{name}`; there are {}", known.join(", ")))
    })
}

const KINDS: [(&str, Type); 14] = [
    ("Boolean", Type::Boolean),
    ("SByte", Type::SByte),
    ("Byte", Type::Byte),
    ("Int16", Type::Int16),
    ("UInt16", Type::UInt16),
    ("Int32", Type::Int32),
    ("UInt32", Type::UInt32),
    ("Int64", Type::Int64),
    ("UInt64", Type::UInt64),
    ("Float", Type::Float),
    ("Double", Type::Double),
    ("String", Type::String),
    ("DateTime", Type::DateTime),
    ("Guid", Type::Guid),
];

/// The value in the plant's type. A list becomes an array.
pub(crate) fn variant(value: &Value, kind: Type) -> Result<Variant, OpcuaFault> {
    if let Value::Array(items) = value {
        let values = items.iter().map(|item| scalar(item, kind)).collect::<Result<Vec<_>, _>>()?;
        let array = Array::new(kind, values).map_err(|error| OpcuaFault::BadArgument(error.to_string()))?;
        return Ok(Variant::Array(Box::new(array)));
    }
    scalar(value, kind)
}

fn scalar(value: &Value, kind: Type) -> Result<Variant, OpcuaFault> {
    let integer = || value.as_i64();
    let variant = match kind {
        Type::Boolean => value.as_bool().map(Variant::Boolean),
        Type::SByte => integer().and_then(|number| number.try_into().ok()).map(Variant::SByte),
        Type::Byte => integer().and_then(|number| number.try_into().ok()).map(Variant::Byte),
        Type::Int16 => integer().and_then(|number| number.try_into().ok()).map(Variant::Int16),
        Type::UInt16 => integer().and_then(|number| number.try_into().ok()).map(Variant::UInt16),
        Type::Int32 => integer().and_then(|number| number.try_into().ok()).map(Variant::Int32),
        Type::UInt32 => integer().and_then(|number| number.try_into().ok()).map(Variant::UInt32),
        Type::Int64 => integer().map(Variant::Int64),
        Type::UInt64 => integer().and_then(|number| number.try_into().ok()).map(Variant::UInt64),
        Type::Float => {
            value.as_f64().map(|number| number as f32).filter(|number| number.is_finite()).map(Variant::Float)
        }
        Type::Double => value.as_f64().filter(|number| number.is_finite()).map(Variant::Double),
        Type::String => value.as_str().map(|text| Variant::String(UAString::from(text))),
        Type::DateTime => value
            .as_str()
            .and_then(|text| DateTime::parse_from_rfc3339(text).ok())
            .map(|at| Variant::DateTime(Box::new(at))),
        Type::Guid => value
            .as_str()
            .and_then(|text| text.parse::<Guid>().ok())
            .map(|guid| Variant::Guid(Box::new(guid))),
        _ => None,
    };
    variant.ok_or_else(|| OpcuaFault::BadArgument(format!("{value} cannot be written as {kind:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_exactly_or_not_at_all() {
        assert_eq!(variant(&Value::from(75_i64), Type::Double), Ok(Variant::Double(75.0)));
        assert_eq!(variant(&Value::from(-1_i64), Type::Int16), Ok(Variant::Int16(-1)));
        for (value, kind) in [
            (Value::from(1.5), Type::Int32),
            (Value::from(-1_i64), Type::UInt32),
            (Value::from(256_i64), Type::Byte),
            (Value::from("75"), Type::Double),
            (Value::from(true), Type::Int32),
        ] {
            assert!(variant(&value, kind).is_err(), "{value} as {kind:?}");
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        for (value, kind) in [
            (Value::from(true), Type::Boolean),
            (Value::from(i64::MIN), Type::Int64),
            (Value::from(20.1), Type::Float),
            (Value::from(0.1), Type::Double),
            (Value::from("on"), Type::String),
            (Value::from(vec![1_i64, 2]), Type::Int32),
        ] {
            let written = variant(&value, kind).unwrap();
            assert_eq!(plain(&written), Some(value), "{kind:?}");
        }
    }
}
