//! What values are read from.

use std::ops::Range;

use stave_canon::{Number, Value};

/// The kind of a value, in the words that faults use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Null,
    Boolean,
    Integer,
    /// A number with a fraction or an exponent.
    Number,
    String,
    /// A date or a time, which only TOML has.
    Time,
    Array,
    Object,
}

impl ValueKind {
    /// The word with its article.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            ValueKind::Null => "null",
            ValueKind::Boolean => "a boolean",
            ValueKind::Integer => "an integer",
            ValueKind::Number => "a number",
            ValueKind::String => "a string",
            ValueKind::Time => "a date or time",
            ValueKind::Array => "an array",
            ValueKind::Object => "an object",
        }
    }
}

/// The key of a member, and where it is written if the source knows.
#[derive(Debug, Clone)]
pub struct MemberKey<'k> {
    pub text: &'k str,
    pub span: Option<Range<usize>>,
}

/// A value of some document: JSON, YAML or TOML.
///
/// Invariant: an object's keys are unique, and its members come in the order in which they were written.
pub trait ValueNode: Copy {
    fn kind(self) -> ValueKind;

    fn boolean(self) -> Option<bool>;

    /// The number as it was written.
    fn number(self) -> Option<Number>;

    fn text(&self) -> Option<&str>;

    /// Calls `visit` for each item of an array, and never for another value.
    fn items(self, visit: impl FnMut(Self));

    /// Calls `visit` for each member of an object, and never for another value.
    fn members(self, visit: impl FnMut(MemberKey<'_>, Self));

    /// Where the value is written, in bytes of its text. A value without a text has no span.
    fn span(self) -> Option<Range<usize>>;

    /// The value without places.
    fn to_value(self) -> Value;

    /// The member of an object with this key.
    fn member(self, key: &str) -> Option<Self> {
        let mut found = None;
        self.members(|name, member| {
            if name.text == key {
                found = Some(member);
            }
        });
        found
    }
}

impl ValueNode for &Value {
    fn kind(self) -> ValueKind {
        match self {
            Value::Null => ValueKind::Null,
            Value::Bool(_) => ValueKind::Boolean,
            Value::Number(number) if number.is_integer() => ValueKind::Integer,
            Value::Number(_) => ValueKind::Number,
            Value::String(_) => ValueKind::String,
            Value::Array(_) => ValueKind::Array,
            Value::Object(_) => ValueKind::Object,
        }
    }

    fn boolean(self) -> Option<bool> {
        self.as_bool()
    }

    fn number(self) -> Option<Number> {
        self.as_number().cloned()
    }

    fn text(&self) -> Option<&str> {
        self.as_str()
    }

    fn items(self, visit: impl FnMut(Self)) {
        self.as_array().unwrap_or_default().iter().for_each(visit);
    }

    fn members(self, mut visit: impl FnMut(MemberKey<'_>, Self)) {
        for (text, member) in self.as_object().into_iter().flatten() {
            visit(MemberKey { text, span: None }, member);
        }
    }

    fn span(self) -> Option<Range<usize>> {
        None
    }

    fn to_value(self) -> Value {
        self.clone()
    }

    fn member(self, key: &str) -> Option<Self> {
        self.get(key)
    }
}
