//! The exec line: what runs, in what order, under which baked policy (specification 004).
//!
//! [`read`] turns JSON into a [`Document`] and reports every violation of the specification's eight
//! rules at once, each with a JSON pointer; [`check_text`] adds the line and column when the text is at
//! hand. [`encode`] writes the byte-exact file form.
//!
//! Invariant: a [`Document`] that came out of [`read`] satisfies the rules, and `read(encode(d)) == d`,
//! extra properties included.

pub mod baked_policy;
mod codec;
pub mod contract;
pub mod dataflow;
pub mod diff;
pub mod expression;
mod fault;
pub mod manifest;
mod manifest_check;
mod model;
pub mod picture;
pub mod policy;
pub mod spacing;
mod verify;
mod wait_cycle;
pub mod wdl;

pub use codec::{Acceptance, encode, read, schema, to_value};
pub use fault::{DocumentFault, check_text, later_additions, later_version};
pub use manifest_check::{ManifestFiles, check_manifest};
pub use model::{
    Constants, Document, DocumentEdge, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, On, Retry,
};
pub use wait_cycle::{called_nodes, wait_cycle};

/// The version this crate writes, and the only one [`Acceptance::Exact`] takes.
pub const VERSION: &str = "1.0.0";

/// The largest value of a timeout or a retry field.
pub const MAX_INTEGER: i64 = i32::MAX as i64;
