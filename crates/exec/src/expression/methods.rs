//! The methods of texts and mappings that an expression can call.

use stave_canon::Value;

type Result<T> = std::result::Result<T, String>;

const NAMES: [&str; 9] =
    ["endswith", "get", "items", "keys", "lower", "startswith", "strip", "upper", "values"];

pub(super) fn known(name: &str) -> Result<()> {
    if NAMES.contains(&name) {
        return Ok(());
    }
    Err(format!("there is no method `{name}`; there are {}", NAMES.join(", ")))
}

pub(super) fn call(subject: &Value, name: &str, arguments: &[Value]) -> Result<Value> {
    known(name)?;
    match (subject, name, arguments) {
        (Value::Object(object), "get", [Value::String(key)]) => {
            Ok(object.get(key).cloned().unwrap_or_default())
        }
        (Value::Object(object), "get", [Value::String(key), absent]) => {
            Ok(object.get(key).unwrap_or(absent).clone())
        }
        (Value::Object(object), "keys", []) => {
            Ok(Value::Array(object.keys().map(|key| key.as_str().into()).collect()))
        }
        (Value::Object(object), "values", []) => Ok(Value::Array(object.values().cloned().collect())),
        (Value::Object(object), "items", []) => {
            let pairs =
                object.iter().map(|(key, value)| Value::Array(vec![key.as_str().into(), value.clone()]));
            Ok(Value::Array(pairs.collect()))
        }
        (Value::String(text), "lower", []) => Ok(text.to_lowercase().into()),
        (Value::String(text), "upper", []) => Ok(text.to_uppercase().into()),
        (Value::String(text), "strip", []) => Ok(text.trim().into()),
        (Value::String(text), "startswith", [Value::String(start)]) => {
            Ok(text.starts_with(start.as_str()).into())
        }
        (Value::String(text), "endswith", [Value::String(end)]) => Ok(text.ends_with(end.as_str()).into()),
        (subject, name, _) => Err(format!("{} has no method `{name}` with these arguments", subject.kind())),
    }
}
