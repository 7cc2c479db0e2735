//! How much a value takes when it is written.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use crate::failure::{Failure, FailureKind};

/// The most that all edges out of one step, or into one step or the response, may carry together. Every edge carries a
/// copy, so many edges from one large value would otherwise take any amount of memory.
const MOST_GATHERED: u64 = 64 * 1024 * 1024;

/// The bytes that may still be copied, out of a limit.
#[derive(Debug)]
pub struct CopyLimit {
    limit: u64,
    left: u64,
}

impl CopyLimit {
    #[must_use]
    pub fn new(limit: u64) -> CopyLimit {
        CopyLimit { limit, left: limit }
    }

    /// The limit of what edges carry together.
    pub(crate) fn of_edges() -> CopyLimit {
        CopyLimit::new(MOST_GATHERED)
    }

    /// Makes sure that a value fits before it is copied; `exceeded` is given the limit.
    pub fn take(&mut self, value: &Value, exceeded: impl FnOnce(u64) -> Failure) -> Result<(), Failure> {
        self.left = self.left.checked_sub(value_bytes(value)).ok_or_else(|| exceeded(self.limit))?;
        Ok(())
    }

    /// The same for a value that an edge carries; `what` begins the message.
    pub(crate) fn carry(&mut self, value: &Value, what: impl FnOnce() -> String) -> Result<(), Failure> {
        self.take(value, |limit| {
            let message = format!("{} more than {limit} bytes", what());
            Failure::new(codes::RESULT_TOO_LARGE, FailureKind::Value, message)
        })
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
