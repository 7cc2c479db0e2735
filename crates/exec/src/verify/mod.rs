//! The rules of specification 004, section 6, that look at more than one value. One file per rule; the
//! shape of single values (rules 1, 2, 5, 6 and 8) is the codec's business.
//!
//! The rules look at the JSON and not at the model, so that a fault in one part of a document does not
//! hide the faults in the others. A value that does not have its type is the codec's to report.

mod exec_bad_timestamp;
mod exec_duplicate_node;
mod exec_unknown_node;

use stave_canon::{Pointer, Value};

use crate::DocumentFault;

/// Appends every violation of rules 3, 4 and 7.
pub(crate) fn verify(document: &Value, faults: &mut Vec<DocumentFault>) {
    exec_duplicate_node::verify(document, faults);
    exec_unknown_node::verify(document, faults);
    exec_bad_timestamp::verify(document, faults);
}

/// Rule 2: `^[a-zA-Z0-9_.-]+$`, with no line feed tolerated at the end.
pub(crate) fn is_identifier(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !text.is_empty() && text.bytes().all(part)
}

/// The nodes or edges of a document, when they are a list.
fn listed<'v>(document: &'v Value, key: &str) -> Option<(&'v [Value], Pointer)> {
    let items = document.get("graph")?.get(key)?.as_array()?;
    Some((items, Pointer::root().key("graph").key(key)))
}
