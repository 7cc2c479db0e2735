//! YAML with places: text to a tree in which every scalar, key and container has its byte span.
//!
//! The dialect is the YAML 1.2 core schema: `yes`, `no`, `on` and `off` are strings, `017` is
//! seventeen, integers are exact at any size. JSON is read on the same path. Duplicate keys, tags
//! outside the core schema, several documents, values that JSON cannot hold and documents past the
//! bounds are errors; anchors, aliases and merge keys are expanded within a budget.

mod core_schema;
mod fast_path;
mod faults;
mod mapping;
mod node;
mod pieces;
mod read;
mod scalars;
mod spanned;
mod tree;

pub use read::{Comment, MAX_BYTES, MAX_DEPTH, MAX_NODES, YamlDocument, read, read_up_to};
pub use scalars::block_header_start;
pub use spanned::{Spanned, Text};
pub use tree::{Tree, TreeValue, YamlEntry};
