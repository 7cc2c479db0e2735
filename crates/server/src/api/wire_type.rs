//! Types of bodies as values: what a table can hold of them.

use stave_canon::Value;
use stave_shape::{Definitions, Faults, Place, Reader, Shape, ValueNode};

use super::{Content, Operation};
use crate::message::{JsonBody, Reply};

/// A type with a fixed form: its schema, and whether a value has this form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireType {
    pub(crate) schema: fn(&mut Definitions) -> Value,
    pub(crate) check: fn(&Value) -> Result<(), Faults>,
}

impl WireType {
    pub(crate) const fn of<T: Shape>() -> WireType {
        WireType { schema: T::schema, check: check::<T> }
    }
}

fn check<T: Shape>(value: &Value) -> Result<(), Faults> {
    stave_shape::read::<T>(value).map(drop)
}

/// One of two forms. A value that fits neither has the faults of the second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Either<A, B> {
    One(A),
    Other(B),
}

impl<A: Shape, B: Shape> Shape for Either<A, B> {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let mut trial = Reader::new();
        trial.closed = reader.closed;
        match A::read(node, at, &mut trial) {
            Some(one) if trial.faults().is_empty() => Some(Either::One(one)),
            _ => B::read(node, at, reader).map(Either::Other),
        }
    }

    fn write(&self) -> Value {
        match self {
            Either::One(one) => one.write(),
            Either::Other(other) => other.write(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![A::schema(definitions), B::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// Asserts in debug builds that a reply is one that its operation declares.
pub(crate) fn assert_declared(operation: &Operation, reply: &Reply) {
    let Some(JsonBody(value)) = reply.extensions().get::<JsonBody>() else { return };
    let status = reply.status().as_u16();
    let content = match operation.other {
        Some((other, content)) if other == status => Some(content),
        _ => Some(operation.ok).filter(|_| status == 200),
    };
    let place = format!("{} {}", operation.method, operation.path);
    debug_assert!(content.is_some(), "{place} declares no answer with status {status}");
    if let Some(Content::Json(of)) = content {
        let checked = (of.check)(value);
        debug_assert!(checked.is_ok(), "{place}, {status}: {checked:?}\n{value}");
    }
}
