//! What is wrong with a document, and where.

use std::fmt;

use stave_canon::{ParseError, Pointer};
use thiserror::Error;

/// One violation of the specification.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The value at fault, or the object that lacks one.
    pub pointer: Pointer,
    pub message: String,
}

/// Why a document was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    #[error("not JSON: {0}")]
    Syntax(#[from] ParseError),
    /// Every fault of the document, at least one.
    #[error("{}", listed(.0))]
    Faults(Vec<Fault>),
}

impl LoadError {
    /// The faults; none when the text was not even JSON.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        match self {
            LoadError::Syntax(_) => &[],
            LoadError::Faults(faults) => faults,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.as_str().is_empty() { "the document" } else { self.pointer.as_str() };
        write!(out, "{pointer}: {}", self.message)
    }
}

fn listed(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n")
}
