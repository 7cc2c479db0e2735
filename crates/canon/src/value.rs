//! The JSON value that every line of the stave shares.

use indexmap::IndexMap;

use crate::Number;

/// An object that remembers the order in which its keys were written. Equality ignores that order.
pub type Object = IndexMap<String, Value>;

/// A JSON value with exact numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Value>),
    Object(Object),
}

impl Value {
    /// The word a person would use for this kind of value in an error message.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_integer() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        if let Value::Number(value) = self { Some(value) } else { None }
    }

    /// The integer, when the value is one that was written as an integer and fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The nearest double of any number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().map(Number::as_f64)
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(value) = self { Some(value) } else { None }
    }

    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Value::Array(value) = self { Some(value) } else { None }
    }

    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        if let Value::Object(value) = self { Some(value) } else { None }
    }

    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Value::Object(value) = self { Some(value) } else { None }
    }

    /// The member `key` of an object; `None` for a missing key and for every other kind of value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// The value a JSON Pointer (RFC 6901) names.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        if pointer.is_empty() {
            return Some(self);
        }
        let mut here = self;
        if !pointer.starts_with('/') {
            return None;
        }
        for token in crate::pointer::tokens(pointer) {
            here = match here {
                Value::Object(object) => object.get(token.as_ref())?,
                Value::Array(items) => items.get(crate::pointer::item_index(&token)?)?,
                _ => return None,
            };
        }
        Some(here)
    }

    /// How deep containers nest inside the value: 0 for a scalar.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Value::Array(items) => 1 + items.iter().map(Value::depth).max().unwrap_or(0),
            Value::Object(object) => 1 + object.values().map(Value::depth).max().unwrap_or(0),
            _ => 0,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Number(Number::from(value))
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Number(Number::from(value))
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::Number(Number::from(i64::from(value)))
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Number(Number::from(i64::from(value)))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value::Number(Number::from(value as u64))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Number(Number::Float(value))
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::String(value)
    }
}

impl From<Object> for Value {
    fn from(value: Object) -> Self {
        Value::Object(value)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(value: Vec<T>) -> Self {
        Value::Array(value.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Value::Object(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// Prints compact JSON in insertion order, for messages and logs; hashes use a profile instead.
impl std::fmt::Display for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        crate::write(self, &crate::Layout::MESSAGE, &mut text);
        out.write_str(&text)
    }
}
