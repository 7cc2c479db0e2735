//! What is wrong with a document, and where.

use std::fmt;

use stave_canon::{Locator, ParseError, Pointer};
use stave_diag::{Code, Diagnostic, SourceId, Span};
use thiserror::Error;

use crate::codes;

/// One violation of the specification.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SystemFault {
    pub code: Code,
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
    Faults(Vec<SystemFault>),
}

impl LoadError {
    /// The faults; none when the text was not even JSON.
    #[must_use]
    pub fn faults(&self) -> &[SystemFault] {
        match self {
            LoadError::Syntax(_) => &[],
            LoadError::Faults(faults) => faults,
        }
    }
}

impl LoadError {
    /// Every fault as a diagnostic at its line and column in the text that was refused.
    #[must_use]
    pub fn diagnostics(&self, source: SourceId, text: &str) -> Vec<Diagnostic> {
        match self {
            LoadError::Syntax(error) => {
                let start = text.floor_char_boundary(error.offset);
                let end = text.ceil_char_boundary((error.offset + 1).min(text.len()));
                let span = Span::new(source, start, end);
                vec![Diagnostic::new(codes::SYSTEM_NOT_JSON, span, error.message.clone())]
            }
            LoadError::Faults(faults) => {
                let mut places = Places::new(source, text);
                faults
                    .iter()
                    .map(|fault| places.diagnostic(fault.code, &fault.pointer, &fault.message))
                    .collect()
            }
        }
    }
}

/// Places in the text of one document, for as many diagnostics as it takes.
#[derive(Debug)]
pub struct Places<'t> {
    source: SourceId,
    text: &'t str,
    locator: Locator<'t>,
}

impl<'t> Places<'t> {
    #[must_use]
    pub fn new(source: SourceId, text: &'t str) -> Self {
        Places { source, text, locator: Locator::new(text) }
    }

    /// A diagnostic at the value that a pointer names.
    #[must_use]
    pub fn diagnostic(&mut self, code: Code, pointer: &Pointer, message: &str) -> Diagnostic {
        let range = self.locator.locate(pointer.as_str()).unwrap_or(0..0);
        // A whole object is too much to underline; its first character marks it.
        let opens = self.text.as_bytes().get(range.start).is_some_and(|byte| matches!(byte, b'{' | b'['));
        let end = if opens { range.start + 1 } else { range.end };
        Diagnostic::new(code, Span::new(self.source, range.start, end), message)
    }
}

impl fmt::Display for SystemFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.as_str().is_empty() { "the document" } else { self.pointer.as_str() };
        write!(out, "{pointer}: {} [{}]", self.message, self.code)
    }
}

fn listed(faults: &[SystemFault]) -> String {
    faults.iter().map(SystemFault::to_string).collect::<Vec<_>>().join("\n")
}
