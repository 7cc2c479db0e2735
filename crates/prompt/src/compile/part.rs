//! What the caller has already resolved for a prompt.

use stave_canon::Value;

use super::{Provenance, Sensitivity};

/// A piece of text with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// For a reference, the reference itself; otherwise what a cut is reported under.
    pub name: String,
    pub text: String,
    pub provenance: Provenance,
    pub sensitivity: Sensitivity,
    /// Overrides the importance that the part's place gives it; larger is more important.
    pub priority: Option<u8>,
}

/// Everything beside the Prompt IR that goes into a model call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parts {
    /// Template text, sent first and as it is.
    pub instructions: Vec<Part>,
    /// The contents of `file:` and `diff:` references, by name.
    pub references: Vec<Part>,
    /// Retrieved documents that no reference names.
    pub documents: Vec<Part>,
    /// Earlier turns, oldest first.
    pub history: Vec<Part>,
    pub tool_results: Vec<Part>,
    /// Values of this request, sent last and as they are.
    pub inputs: Vec<Part>,
    /// The schema of the answer; without it the prompt's `output_requirements` stand for it.
    pub output_schema: Option<Value>,
}

impl Part {
    /// A public part of the given origin.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>, provenance: Provenance) -> Self {
        Part {
            name: name.into(),
            text: text.into(),
            provenance,
            sensitivity: Sensitivity::Public,
            priority: None,
        }
    }

    #[must_use]
    pub fn sensitivity(mut self, sensitivity: Sensitivity) -> Self {
        self.sensitivity = sensitivity;
        self
    }

    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }
}
