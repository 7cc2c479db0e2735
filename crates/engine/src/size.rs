//! How much a value takes when it is written.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use crate::failure::{Failure, FailureKind};

/// The most that all edges out of one step, or into one step or the response, may carry together. Every edge carries a
/// copy, so many edges from one large value would otherwise take any amount of memory.
const MOST_GATHERED: u64 = 64 * 1024 * 1024;

/// What is left of the bytes that may be carried.
#[derive(Debug)]
pub(crate) struct Room(u64);

impl Room {
    pub(crate) fn new() -> Room {
        Room(MOST_GATHERED)
    }

    /// Makes sure that a value fits before it is copied.
    pub(crate) fn take(&mut self, value: &Value, what: impl FnOnce() -> String) -> Result<(), Failure> {
        match self.0.checked_sub(value_bytes(value)) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                let message = format!("{} more than {MOST_GATHERED} bytes", what());
                Err(Failure::new(codes::RESULT_TOO_LARGE, FailureKind::Value, message))
            }
        }
    }
}

/// About as many bytes as the value has in JSON, without writing it.
#[must_use]
pub fn value_bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 + 2,
        Value::Array(items) => {
            items.iter().map(value_bytes).fold(2, |sum, item| sum.saturating_add(item + 1))
        }
        Value::Object(object) => object_bytes(object),
        Value::Number(_) => value.to_string().len() as u64,
        _ => 5,
    }
}

/// The same for the members of an object.
#[must_use]
pub fn object_bytes(object: &Object) -> u64 {
    let member = |(key, value): (&String, &Value)| (key.len() as u64 + 4).saturating_add(value_bytes(value));
    object.iter().map(member).fold(2, u64::saturating_add)
}
