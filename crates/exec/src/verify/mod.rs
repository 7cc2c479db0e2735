//! The rules of specification 004, section 6, that look at more than one value. One file per rule; the
//! shape of single values (rules 1, 2, 5, 6 and 8) is the codec's business.

mod edge_ends;
mod generated_at;
mod unique_nodes;

use crate::{Document, Fault};

/// Appends every violation of rules 3, 4 and 7.
pub(crate) fn verify(document: &Document, faults: &mut Vec<Fault>) {
    unique_nodes::verify(document, faults);
    edge_ends::verify(document, faults);
    generated_at::verify(document, faults);
}

/// Rule 2: `^[a-zA-Z0-9_.-]+$`, with no line feed tolerated at the end.
pub(crate) fn is_identifier(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !text.is_empty() && text.bytes().all(part)
}
