//! The operations of flows and the step kinds of documents, each described once.
//!
//! A [`Descriptor`] says what an operation takes, does and gives. The checker, both lowerings, the runtime, the rules
//! for labels, the studio's palette, the language server, the schemas and the documentation read it; none of them has a
//! list of its own. The work itself is a step of the runtime, which has one for each descriptor and no others.
//!
//! Invariant: a fact about an operation that two crates need is in its file in `catalogue` and nowhere else.

mod argument;
mod catalogue;
mod descriptor;
mod page;
mod schema;

pub use argument::{Argument, ArgumentKind, SecretUse};
pub use catalogue::*;
pub use descriptor::{
    Blank, Descriptor, DuplicateKey, Effects, Feature, Form, Group, Receiver, Repeat, ResultProvenance,
    ResultShape, StoreEntry,
};
pub use page::{page, section, table};
pub use schema::{arguments_schema, to_value};
