//! Strict matching: what a forbidden text looks like, not how it is spelt in bytes.

mod backup;
mod encoded;
mod path;
mod plain;
mod words;

pub(super) use encoded::may_be_encoded;
pub(super) use path::{PathPattern, Paths, Places, is_plain_reference};
pub(super) use words::{FIGURES, LETTERS, Literals, Prepared, letters_and_figures};
