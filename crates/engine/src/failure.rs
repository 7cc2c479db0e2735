//! Why a step, an edge or a whole run failed.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::Code;
use stave_diag::codes::run as codes;
use stave_exec::dataflow::Origin;

use crate::graph::EngineNode;

/// A failure with everything an error port, a report and a person need.
///
/// Invariant: `message` and `details` hold no secret; what came from a provider or a host is bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure(Box<Facts>);

/// What a [`Failure`] says. It is boxed there, because most results are not failures.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub code: Code,
    pub kind: FailureKind,
    pub message: String,
    /// Whether another attempt could succeed.
    pub retryable: bool,
    /// How long the other side asked us to wait.
    pub retry_after: Option<Duration>,
    pub details: Value,
    /// Where in the source it happened, when that is known better than the node's own origin.
    pub origin: Option<Origin>,
}

/// The class of a failure, as fallbacks, HTTP statuses and exit codes see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The request lacks something or has it in the wrong shape.
    Request,
    /// A value does not fit its port.
    Value,
    Timeout,
    /// A model, a host or a store on the other side failed.
    Upstream,
    /// The author's code or expression failed.
    Code,
    /// The model's reply does not fit its schema.
    Validation,
    /// Governance or a capability rule forbids it.
    Refused,
    /// The flow, the project or the machine is not set up for it.
    Configuration,
    /// The run has used up what it may.
    Budget,
    /// Someone wanted the run to end.
    Cancelled,
    /// The process that worked on the run was asked to end; the run can continue in another.
    Interrupted,
    /// A person has to decide first.
    Waiting,
    /// A person decided against it.
    Denied,
}

impl FailureKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FailureKind::Request => "request",
            FailureKind::Value => "value",
            FailureKind::Timeout => "timeout",
            FailureKind::Upstream => "upstream",
            FailureKind::Code => "code",
            FailureKind::Validation => "validation",
            FailureKind::Refused => "refused",
            FailureKind::Configuration => "configuration",
            FailureKind::Budget => "budget",
            FailureKind::Cancelled => "cancelled",
            FailureKind::Interrupted => "interrupted",
            FailureKind::Waiting => "waiting",
            FailureKind::Denied => "denied",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<FailureKind> {
        use FailureKind::{
            Budget, Cancelled, Code, Configuration, Denied, Interrupted, Refused, Request, Timeout, Upstream,
            Validation, Value, Waiting,
        };
        let kinds = [
            Request,
            Value,
            Timeout,
            Upstream,
            Code,
            Validation,
            Refused,
            Configuration,
            Budget,
            Cancelled,
            Interrupted,
            Waiting,
            Denied,
        ];
        kinds.into_iter().find(|kind| kind.word() == word)
    }
}

impl Failure {
    #[must_use]
    pub fn new(code: Code, kind: FailureKind, message: impl Into<String>) -> Self {
        Failure(Box::new(Facts {
            code,
            kind,
            message: message.into(),
            retryable: false,
            retry_after: None,
            details: Value::Null,
            origin: None,
        }))
    }

    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    #[must_use]
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.details = details.into();
        self
    }

    #[must_use]
    pub fn at(mut self, origin: Option<Origin>) -> Self {
        self.origin = self.origin.or(origin);
        self
    }

    /// The failure of a value that [`Failure::to_error_value`] gave, as far as the value has it.
    #[must_use]
    pub fn of_error_value(error: &Value) -> Failure {
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        let code = text("code").and_then(stave_diag::lookup).map_or(codes::CODE_FAILED, |info| info.code);
        let kind = text("kind").and_then(FailureKind::from_word).unwrap_or(FailureKind::Code);
        let mut failure = Failure::new(code, kind, text("reason").unwrap_or_default());
        failure.retryable = error.get("retryable").and_then(Value::as_bool).unwrap_or_default();
        failure.details = error.get("details").cloned().unwrap_or_default();
        failure
    }

    /// Whether the work is put off and not over: it waits for a person, or its run is halting. Such a
    /// failure is never a result; no fallback, error route, tool answer or list of errors takes it.
    #[must_use]
    pub fn is_pause(&self) -> bool {
        matches!(self.kind, FailureKind::Waiting | FailureKind::Interrupted)
    }

    /// The value that travels along an edge from an error port.
    #[must_use]
    pub fn to_error_value(&self, node: &str, attempts: u32) -> Value {
        let mut error = Object::new();
        error.insert("reason".into(), self.message.as_str().into());
        error.insert("code".into(), self.code.0.into());
        error.insert("kind".into(), self.kind.word().into());
        error.insert("node".into(), node.into());
        error.insert("attempt".into(), attempts.into());
        error.insert("retryable".into(), self.retryable.into());
        if !self.details.is_null() {
            error.insert("details".into(), self.details.clone());
        }
        Value::Object(error)
    }
}

/// The failure that ended a run, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFailure {
    pub failure: Failure,
    /// The node at fault; none when the request or the document was.
    pub node: Option<String>,
    /// The attempts that the node made.
    pub attempts: u32,
}

impl RunFailure {
    /// The failure of a node that nothing handled.
    #[must_use]
    pub fn of_node(node: &EngineNode, failure: Failure, attempts: u32) -> RunFailure {
        RunFailure { failure: failure.at(node.origin()), node: Some(node.id.clone()), attempts }
    }

    /// A failure that no node is to blame for.
    #[must_use]
    pub fn of_run(failure: Failure) -> RunFailure {
        RunFailure { failure, node: None, attempts: 0 }
    }
}

impl Deref for Failure {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut Facts {
        &mut self.0
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} [{}]", self.message, self.code)
    }
}
