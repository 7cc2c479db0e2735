//! How a run of Python fails.

use std::fmt;

use serde::{Deserialize, Serialize};
use stave_diag::{Embedded, LineColumn, Span};
use thiserror::Error;

use crate::StateHostError;

/// A place in the code that was run, both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    pub line: u32,
    pub column: u32,
}

/// The part of the code where something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRange {
    pub start: CodePlace,
    pub end: CodePlace,
}

impl CodeRange {
    /// The place in the flow file, given the code as it was there.
    #[must_use]
    pub fn span(self, code: &Embedded) -> Span {
        let source = stave_diag::Source::new("", code.text());
        let offset = |place: CodePlace| {
            source.offset(LineColumn { line: place.line, column: place.column }).unwrap_or(code.text().len())
        };
        let start = offset(self.start);
        code.span(start..offset(self.end).max(start))
    }
}

impl fmt::Display for CodeRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {} column {}", self.start.line, self.start.column)
    }
}

/// A bound that a job ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    Memory,
    Time,
    Recursion,
    Output,
    Depth,
    HostCalls,
}

impl Limit {
    /// The bound as a message names it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Limit::Memory => "memory",
            Limit::Time => "time",
            Limit::Recursion => "recursion",
            Limit::Output => "output size",
            Limit::Depth => "nesting",
            Limit::HostCalls => "host call",
        }
    }
}

/// Why a job gave no value.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ScriptError {
    /// The code raised, or could not be compiled (`kind` is then `SyntaxError`).
    #[error("{kind}: {message}")]
    Raised { kind: String, message: String, range: Option<CodeRange> },
    /// A value that JSON cannot hold left the code.
    #[error("{place} is a `{type_name}`, which has no JSON form")]
    NotJson { type_name: String, place: String },
    #[error("the {} limit was exceeded: {detail}", limit.word())]
    LimitExceeded { limit: Limit, detail: String, range: Option<CodeRange> },
    /// The state store failed while the code waited for it.
    #[error(transparent)]
    State(#[from] StateHostError),
    /// The worker process could not be started, died, or answered out of turn.
    #[error("the Python worker failed: {0}")]
    Worker(String),
    #[error("the Python pool is shut down")]
    Closed,
}

impl ScriptError {
    /// Where in the code it happened, when the interpreter knows.
    #[must_use]
    pub fn range(&self) -> Option<CodeRange> {
        match self {
            ScriptError::Raised { range, .. } | ScriptError::LimitExceeded { range, .. } => *range,
            _ => None,
        }
    }

    /// A short stable word for the kind of failure: the exception's type name for a raised one.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            ScriptError::Raised { kind, .. } => kind,
            ScriptError::NotJson { .. } => "not_json",
            ScriptError::LimitExceeded { .. } => "limit_exceeded",
            ScriptError::State(_) => "state",
            ScriptError::Worker(_) => "worker",
            ScriptError::Closed => "closed",
        }
    }

    /// Whether the same job may succeed when it is tried again: the code itself was not at fault.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, ScriptError::State(_) | ScriptError::Worker(_))
    }
}
