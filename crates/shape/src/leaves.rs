//! The shapes that others are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stave_canon::{Number, Object, Value};

use crate::{Definitions, FaultKind, Place, Reader, Shape, ValueKind, ValueNode};

fn schema_of(kind: &str) -> Value {
    Value::from_iter([("type", kind)])
}

impl Shape for String {
    #[inline]
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            reader.wrong_type(node, at, "a string");
        }
        text
    }

    fn write(&self) -> Value {
        self.as_str().into()
    }

    fn schema(_: &mut Definitions) -> Value {
        schema_of("string")
    }
}

impl Shape for bool {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let flag = node.boolean();
        if flag.is_none() {
            reader.wrong_type(node, at, "a boolean");
        }
        flag
    }

    fn write(&self) -> Value {
        (*self).into()
    }

    fn schema(_: &mut Definitions) -> Value {
        schema_of("boolean")
    }
}

impl Shape for Number {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let number = node.number();
        if number.is_none() {
            reader.wrong_type(node, at, "a number");
        }
        number
    }

    fn write(&self) -> Value {
        Value::Number(self.clone())
    }

    fn schema(_: &mut Definitions) -> Value {
        schema_of("number")
    }
}

impl Shape for f64 {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let number = Number::read(node, at, reader)?.as_f64();
        if !number.is_finite() {
            let found = Value::from(number).to_string();
            reader.fault(
                at,
                node.span(),
                FaultKind::OutOfRange { wanted: "a finite number".to_owned(), found },
            );
            return None;
        }
        Some(number)
    }

    fn write(&self) -> Value {
        (*self).into()
    }

    fn schema(_: &mut Definitions) -> Value {
        schema_of("number")
    }
}

/// The schema of an integer between two bounds.
#[must_use]
pub fn integer_schema(min: impl Into<Number>, max: impl Into<Number>) -> Value {
    Value::from_iter([
        ("type", Value::from("integer")),
        ("minimum", Value::Number(min.into())),
        ("maximum", Value::Number(max.into())),
    ])
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Shape for $integer {
            #[inline]
            fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
                let number = node.number();
                let read = match &number {
                    Some(Number::Int(value)) => <$integer>::try_from(*value).ok(),
                    Some(Number::Big(digits)) => digits.parse().ok(),
                    Some(Number::Float(_)) | None => {
                        reader.wrong_type(node, at, "an integer");
                        return None;
                    }
                };
                if read.is_none() {
                    let wanted = format!("between {} and {}", <$integer>::MIN, <$integer>::MAX);
                    let found = node.to_value().to_string();
                    reader.fault(at, node.span(), FaultKind::OutOfRange { wanted, found });
                }
                read
            }

            fn write(&self) -> Value {
                Value::Number(Number::from(i128::from(*self)))
            }

            fn schema(_: &mut Definitions) -> Value {
                integer_schema(i128::from(<$integer>::MIN), i128::from(<$integer>::MAX))
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i32, i64);

/// Any value.
impl Shape for Value {
    fn read<N: ValueNode>(node: N, _: &Place<'_>, _: &mut Reader) -> Option<Self> {
        Some(node.to_value())
    }

    fn write(&self) -> Value {
        self.clone()
    }

    fn schema(_: &mut Definitions) -> Value {
        Value::Object(Object::new())
    }
}

/// Any object.
impl Shape for Object {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if node.kind() != ValueKind::Object {
            reader.wrong_type(node, at, "an object");
            return None;
        }
        match node.to_value() {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    fn write(&self) -> Value {
        Value::Object(self.clone())
    }

    fn schema(_: &mut Definitions) -> Value {
        schema_of("object")
    }
}

macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: Shape> Shape for $pointer<T> {
            fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
                T::read(node, at, reader).map($pointer::new)
            }

            fn write(&self) -> Value {
                T::write(self)
            }

            fn schema(definitions: &mut Definitions) -> Value {
                T::schema(definitions)
            }
        }
    )*};
}

pointers!(Arc, Box);

fn each_item<N: ValueNode, T: Shape>(
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
    mut keep: impl FnMut(T),
) -> bool {
    if node.kind() != ValueKind::Array {
        reader.wrong_type(node, at, "an array");
        return false;
    }
    let mut index = 0;
    node.items(|item| {
        if let Some(item) = T::read(item, &at.index(index), reader) {
            keep(item);
        }
        index += 1;
    });
    true
}

fn each_member<N: ValueNode, T: Shape>(
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
    mut keep: impl FnMut(&str, T),
) -> bool {
    if node.kind() != ValueKind::Object {
        reader.wrong_type(node, at, "an object");
        return false;
    }
    node.members(|key, member| {
        if let Some(value) = T::read(member, &at.key(key.text), reader) {
            keep(key.text, value);
        }
    });
    true
}

fn array_schema<T: Shape>(definitions: &mut Definitions) -> Value {
    Value::from_iter([("type", Value::from("array")), ("items", T::schema(definitions))])
}

fn map_schema<T: Shape>(definitions: &mut Definitions) -> Value {
    Value::from_iter([("type", Value::from("object")), ("additionalProperties", T::schema(definitions))])
}

impl<T: Shape> Shape for Vec<T> {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let mut items = Vec::new();
        each_item(node, at, reader, |item| items.push(item)).then_some(items)
    }

    fn write(&self) -> Value {
        Value::Array(self.iter().map(Shape::write).collect())
    }

    fn schema(definitions: &mut Definitions) -> Value {
        array_schema::<T>(definitions)
    }
}

impl<T: Shape + Ord> Shape for BTreeSet<T> {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let mut items = BTreeSet::new();
        each_item(node, at, reader, |item| {
            items.insert(item);
        })
        .then_some(items)
    }

    fn write(&self) -> Value {
        Value::Array(self.iter().map(Shape::write).collect())
    }

    fn schema(definitions: &mut Definitions) -> Value {
        array_schema::<T>(definitions)
    }
}

impl<T: Shape> Shape for BTreeMap<String, T> {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let mut members = BTreeMap::new();
        each_member(node, at, reader, |key, value| drop(members.insert(key.to_owned(), value)))
            .then_some(members)
    }

    fn write(&self) -> Value {
        self.iter().map(|(key, value)| (key.as_str(), value.write())).collect()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        map_schema::<T>(definitions)
    }
}

/// A list of which a single item may be written without the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<T: Shape> Shape for OneOrMany<T> {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if node.kind() == ValueKind::Array {
            return Vec::read(node, at, reader).map(OneOrMany);
        }
        T::read(node, at, reader).map(|one| OneOrMany(vec![one]))
    }

    fn write(&self) -> Value {
        self.0.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![T::schema(definitions), array_schema::<T>(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// Members in the order in which they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(Vec::new())
    }
}

impl<T: Shape> Shape for Ordered<T> {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let mut members = Vec::new();
        each_member(node, at, reader, |key, value| members.push((key.to_owned(), value)))
            .then_some(Ordered(members))
    }

    fn write(&self) -> Value {
        self.0.iter().map(|(key, value)| (key.as_str(), value.write())).collect()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        map_schema::<T>(definitions)
    }
}
