//! Strict matching: what a forbidden text looks like, not how it is spelt in bytes.

mod encoded;
mod path;
mod plain;
mod words;

pub(super) use path::{PathPattern, Paths, Places};
pub(super) use words::{Literals, Prepared};
