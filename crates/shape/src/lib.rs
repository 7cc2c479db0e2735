//! Fixed shapes of documents, declared once as Rust types.
//!
//! `#[derive(Shape)]` gives a type a reader that reports every fault in one pass, a writer with the keys in the order of
//! the fields, and a JSON Schema with the doc comments as descriptions. [`read`] takes any [`ValueNode`]: a JSON value with
//! exact numbers, a YAML tree or a TOML table with places.
//!
//! A field that cannot be read leaves a fault. An optional field or one with a default then has its default, an item of
//! a list or map is left out, and an object without one of its required fields is given up. So a caller that rejects
//! faulty documents asks [`read`], and one that continues with what could be read asks [`read_leniently`].
//!
//! Invariant: a value that [`read`] returns, written again, is read as the same value.

mod definitions;
mod fault;
mod leaves;
mod limits;
mod node;
mod nullable;
mod place;
mod reader;
mod reference;

pub use stave_canon::{Object, Value};

pub use definitions::{
    Definitions, Described, ObjectSchema, document, tagged_schema, variant_schema, words_schema,
};
pub use fault::{Fault, FaultKind, Faults};
pub use leaves::{OneOrMany, Ordered, integer_schema};
pub use limits::{FieldLimits, Pattern};
pub use node::{MemberKey, ValueKind, ValueNode};
pub use nullable::Nullable;
pub use place::Place;
pub use reader::{Null, Reader};
pub use reference::{Setting, settings};
pub use stave_shape_derive::Shape;

/// A type with a fixed form in documents.
pub trait Shape: Sized {
    /// Reads a value at a place. `None` when it cannot be read, in which case the reader has a fault.
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self>;

    /// The value as documents have it.
    fn write(&self) -> Value;

    /// The JSON Schema of the type; objects and words are added to the definitions and referred to.
    fn schema(definitions: &mut Definitions) -> Value;
}

/// Reads a value, or returns everything that is wrong with it.
pub fn read<T: Shape>(node: impl ValueNode) -> Result<T, Faults> {
    match read_leniently(node) {
        (Some(value), faults) if faults.is_empty() => Ok(value),
        (_, faults) => Err(Faults(faults)),
    }
}

/// Reads what can be read of a value, and returns everything that is wrong with it beside that.
#[must_use]
pub fn read_leniently<T: Shape>(node: impl ValueNode) -> (Option<T>, Vec<Fault>) {
    let mut reader = Reader::new();
    let value = T::read(node, &Place::root(), &mut reader);
    (value, reader.finish())
}
