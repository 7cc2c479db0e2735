//! TOML as what shapes are read from.

use std::ops::Range;

use stave_canon::{Number, Value};
use stave_shape::{MemberKey, ValueKind, ValueNode};
use toml::Spanned;
use toml::de::DeValue;

/// A value of a TOML text with its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct TomlNode<'t>(pub(super) &'t Spanned<DeValue<'t>>);

impl ValueNode for TomlNode<'_> {
    fn kind(self) -> ValueKind {
        match self.0.get_ref() {
            DeValue::String(_) => ValueKind::String,
            DeValue::Integer(_) => ValueKind::Integer,
            DeValue::Float(_) => ValueKind::Number,
            DeValue::Boolean(_) => ValueKind::Boolean,
            DeValue::Datetime(_) => ValueKind::Time,
            DeValue::Array(_) => ValueKind::Array,
            DeValue::Table(_) => ValueKind::Object,
        }
    }

    fn boolean(self) -> Option<bool> {
        if let DeValue::Boolean(flag) = self.0.get_ref() { Some(*flag) } else { None }
    }

    fn number(self) -> Option<Number> {
        match self.0.get_ref() {
            DeValue::Integer(integer) => {
                i128::from_str_radix(integer.as_str(), integer.radix()).ok().map(Number::from)
            }
            DeValue::Float(float) => float.as_str().parse().ok().map(Number::Float),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        if let DeValue::String(text) = self.0.get_ref() { Some(text) } else { None }
    }

    fn items(self, mut visit: impl FnMut(Self)) {
        if let DeValue::Array(items) = self.0.get_ref() {
            for item in items {
                visit(TomlNode(item));
            }
        }
    }

    /// The parser sorts keys by name; some tables mean the order of the file.
    fn members(self, mut visit: impl FnMut(MemberKey<'_>, Self)) {
        let DeValue::Table(table) = self.0.get_ref() else { return };
        let mut members: Vec<_> = table.iter().collect();
        members.sort_by_key(|(key, _)| key.span().start);
        for (key, member) in members {
            visit(MemberKey { text: key.get_ref(), span: Some(key.span()) }, TomlNode(member));
        }
    }

    fn span(self) -> Option<Range<usize>> {
        Some(self.0.span())
    }

    /// The value as JSON; times as their text.
    fn to_value(self) -> Value {
        match self.0.get_ref() {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Boolean(flag) => (*flag).into(),
            DeValue::Integer(integer) => self.number().map_or_else(|| integer.as_str().into(), Value::Number),
            DeValue::Float(float) => self.number().map_or_else(|| float.as_str().into(), Value::Number),
            DeValue::Datetime(time) => time.to_string().into(),
            DeValue::Array(items) => {
                Value::Array(items.iter().map(|item| TomlNode(item).to_value()).collect())
            }
            DeValue::Table(_) => {
                let mut members = Vec::new();
                self.members(|key, member| members.push((key.text.to_owned(), member.to_value())));
                Value::from_iter(members)
            }
        }
    }
}
