//! Why a model call failed.
//!
//! Invariant: no error carries a key, a header or the query of an address.

use std::borrow::Cow;
use std::time::Duration;

use stave_retry::{AttemptFailure, FaultClass};
use thiserror::Error;

use crate::transport::Attempt;

/// A failed call, with every attempt that was made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct Error {
    pub kind: ErrorKind,
    /// The attempts in order; empty when the call failed before the first one.
    pub attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ErrorKind {
    #[error("{phase} took longer than {} ms", limit.as_millis())]
    Timeout { phase: Phase, limit: Duration },
    /// The provider answered with an error, in the status or inside the stream.
    #[error("the provider answered {status}{}", suffix(message))]
    Status {
        status: u16,
        /// The provider's own words, shortened.
        message: String,
        /// The provider's word for the kind of error.
        code: Option<String>,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    #[error("the connection failed: {0}")]
    Transport(String),
    #[error("the reply cannot be read: {0}")]
    Decode(String),
    #[error("the call was cancelled")]
    Cancelled,
    #[error("the reply is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The target cannot be called as it is configured.
    #[error("{0}")]
    Target(String),
    /// A replay holds no answer for the request.
    #[error("{0}")]
    Unmatched(String),
}

/// The part of an attempt that a timeout bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Phase {
    #[error("connecting")]
    Connect,
    #[error("waiting for the first byte")]
    FirstByte,
    #[error("the attempt")]
    Attempt,
}

impl Error {
    #[must_use]
    pub fn new(kind: ErrorKind) -> Self {
        Error { kind, attempts: Vec::new() }
    }

    /// Whether the same request may succeed when it is sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }

    /// Whether the call ran out of time, which is a case of its own for fallbacks.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind, ErrorKind::Timeout { .. })
    }
}

impl ErrorKind {
    /// How long the other side asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        if let ErrorKind::Status { retry_after, .. } = self { *retry_after } else { None }
    }

    /// The kind of error in one word, or the provider's status, without anything that was said.
    #[must_use]
    pub fn word(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            ErrorKind::Timeout { .. } => "timeout",
            ErrorKind::Status { status, .. } => return Cow::Owned(status.to_string()),
            ErrorKind::Transport(_) => "connection",
            ErrorKind::Decode(_) => "decode",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::TooLarge { .. } => "too_large",
            ErrorKind::Target(_) => "target",
            ErrorKind::Unmatched(_) => "unmatched",
        })
    }

    /// The class of the failure, when the other side is at fault.
    #[must_use]
    pub fn fault_class(&self) -> Option<FaultClass> {
        match self {
            ErrorKind::Timeout { .. } => Some(FaultClass::Timeout),
            ErrorKind::Transport(_) => Some(FaultClass::Connection),
            ErrorKind::Status { status, .. } => FaultClass::of_status(*status),
            ErrorKind::Decode(_)
            | ErrorKind::Cancelled
            | ErrorKind::TooLarge { .. }
            | ErrorKind::Target(_)
            | ErrorKind::Unmatched(_) => None,
        }
    }

    /// Whether the same request may succeed when it is sent again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.fault_class().is_some_and(FaultClass::may_pass)
    }

    /// What a retry policy has to know about the failure.
    #[must_use]
    pub fn attempt_failure(&self) -> AttemptFailure {
        AttemptFailure { may_pass: self.is_retryable(), retry_after: self.retry_after() }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error::new(kind)
    }
}

fn suffix(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}
