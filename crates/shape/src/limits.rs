//! What a field asks of its value beyond the type.

use stave_canon::{Number, Object, Value};

use crate::{FaultKind, Place, Reader, ValueKind, ValueNode};

/// A form that strings must have: as JSON Schema writes it, and as the reader decides it.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// What a string of the form is, such as `an identifier`.
    pub name: &'static str,
    /// The expression for schemas.
    pub expression: &'static str,
    pub fits: fn(&str) -> bool,
}

/// The limits of a field. Those of strings and numbers hold for the items of an array, too.
#[derive(Debug, Clone, Copy, Default)]
pub struct FieldLimits {
    pub min: Option<i64>,
    pub max: Option<i64>,
    /// An array has at least one item.
    pub filled: bool,
    /// A string has at least one character.
    pub not_empty: bool,
    /// A string has something besides white space.
    pub not_blank: bool,
    /// The most characters of a string.
    pub max_length: Option<usize>,
    pub pattern: Option<Pattern>,
}

impl FieldLimits {
    pub const NONE: FieldLimits = FieldLimits {
        min: None,
        max: None,
        filled: false,
        not_empty: false,
        not_blank: false,
        max_length: None,
        pattern: None,
    };

    /// Whether a value is within the limits. Each one that it breaks leaves a fault; a value of another kind breaks none,
    /// because its type is reported.
    #[inline]
    pub(crate) fn admit<N: ValueNode>(&self, node: N, at: &Place<'_>, reader: &mut Reader) -> bool {
        match node.kind() {
            ValueKind::String => self.admit_text(node, at, reader),
            ValueKind::Integer | ValueKind::Number => self.admit_number(node, at, reader),
            ValueKind::Array => self.admit_items(node, at, reader),
            _ => true,
        }
    }

    fn admit_text<N: ValueNode>(&self, node: N, at: &Place<'_>, reader: &mut Reader) -> bool {
        let Some(text) = node.text() else { return true };
        let kind = if self.not_empty && text.is_empty() {
            FaultKind::Empty("empty")
        } else if self.not_blank && text.trim().is_empty() {
            FaultKind::Empty("blank")
        } else if let Some(longest) = self.max_length.filter(|longest| text.chars().count() > *longest) {
            let wanted = format!("at most {longest} characters long");
            FaultKind::OutOfRange { wanted, found: text.chars().count().to_string() }
        } else if let Some(pattern) = self.pattern.filter(|pattern| !(pattern.fits)(text)) {
            FaultKind::WrongForm { wanted: pattern.name, found: text.to_owned() }
        } else {
            return true;
        };
        reader.fault(at, node.span(), kind);
        false
    }

    fn admit_number<N: ValueNode>(&self, node: N, at: &Place<'_>, reader: &mut Reader) -> bool {
        if self.min.is_none() && self.max.is_none() {
            return true;
        }
        let Some(number) = node.number() else { return true };
        let compare = |limit: i64| number.compare(&Number::Int(limit));
        let is_low = self.min.is_some_and(|min| compare(min).is_none_or(std::cmp::Ordering::is_lt));
        let is_high = self.max.is_some_and(|max| compare(max).is_none_or(std::cmp::Ordering::is_gt));
        if !is_low && !is_high {
            return true;
        }
        let wanted = match (self.min, self.max) {
            (Some(min), Some(max)) => format!("between {min} and {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => return true,
        };
        let found = Value::Number(number).to_string();
        reader.fault(at, node.span(), FaultKind::OutOfRange { wanted, found });
        false
    }

    fn admit_items<N: ValueNode>(&self, node: N, at: &Place<'_>, reader: &mut Reader) -> bool {
        let (mut count, mut fits) = (0, true);
        node.items(|item| {
            fits &= self.admit(item, &at.index(count), reader);
            count += 1;
        });
        if self.filled && count == 0 {
            reader.fault(at, node.span(), FaultKind::NoItems);
            return false;
        }
        fits
    }

    /// Adds the limits to the schema of a field.
    #[must_use]
    pub fn describe(&self, schema: Value) -> Value {
        let Value::Object(mut schema) = schema else { return schema };
        if let Some(items) = schema.get_mut("items") {
            *items = FieldLimits { filled: false, ..*self }.describe(items.clone());
            if self.filled {
                schema.insert("minItems".to_owned(), 1.into());
            }
            return Value::Object(schema);
        }
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                schema.insert(key.to_owned(), value);
            }
        };
        set("minimum", self.min.map(Value::from));
        set("maximum", self.max.map(Value::from));
        set("minLength", (self.not_empty || self.not_blank).then(|| 1.into()));
        set("maxLength", self.max_length.map(Value::from));
        let blank = self.not_blank.then_some("\\S");
        set("pattern", self.pattern.map(|pattern| pattern.expression).or(blank).map(Value::from));
        Value::Object(schema)
    }
}

/// A schema that admits `null`, too.
pub(crate) fn nullable(schema: Value) -> Value {
    match schema {
        Value::Object(mut schema) => match schema.get("type") {
            Some(Value::String(one)) if !schema.contains_key("enum") => {
                let types = vec![Value::from(one.as_str()), Value::from("null")];
                schema.insert("type".to_owned(), Value::Array(types));
                Value::Object(schema)
            }
            _ if schema.is_empty() => Value::Object(schema),
            _ => {
                let choices = vec![Value::Object(schema), Value::from_iter([("type", "null")])];
                Value::Object(Object::from_iter([("anyOf".to_owned(), Value::Array(choices))]))
            }
        },
        other => other,
    }
}
