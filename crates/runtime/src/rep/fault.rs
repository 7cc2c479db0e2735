//! Errors of the protocol, with their codes.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use stave_engine::FailureKind;
use stave_engine::RunFailure;

/// An error as a peer sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    code: Code,
    message: String,
    data: Value,
}

/// The numbers of the protocol: 1xxx validation, 2xxx failed steps, 3xxx the runtime itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Version = 1001,
    StepKind = 1002,
    Schema = 1003,
    Step = 2001,
    Transport = 3001,
    Internal = 3002,
    /// That of JSON-RPC itself.
    InvalidRequest = -32600,
}

impl Fault {
    pub(super) fn new(code: Code, message: impl Into<String>, data: Value) -> Fault {
        Fault { code, message: message.into(), data }
    }

    pub(super) fn schema(message: String, details: Value) -> Fault {
        Fault::new(Code::Schema, message, data(None, None, false, details))
    }

    pub(super) fn transport(message: impl Into<String>) -> Fault {
        Fault::new(Code::Transport, message, Value::Null)
    }

    pub(super) fn internal(message: impl Into<String>) -> Fault {
        Fault::new(Code::Internal, message, Value::Null)
    }

    /// Why a run failed.
    pub(super) fn of_run(failed: &RunFailure) -> Fault {
        let failure = &failed.failure;
        let code = match failure.kind {
            _ if failure.code == codes::UNKNOWN_STEP_KIND => Code::StepKind,
            FailureKind::Request => Code::Schema,
            FailureKind::Configuration if failure.code == codes::BAD_DOCUMENT => Code::Schema,
            _ => Code::Step,
        };
        let mut details = Object::new();
        details.insert("code".into(), failure.code.0.into());
        details.insert("kind".into(), failure.kind.word().into());
        if let Some(origin) = failure.origin {
            details.insert("line".into(), origin.line.into());
            details.insert("column".into(), origin.column.into());
        }
        if !failure.details.is_null() {
            details.insert("details".into(), failure.details.clone());
        }
        let attempt = (failed.attempts > 0).then_some(failed.attempts);
        let data = data(failed.node.as_deref(), attempt, failure.retryable, details.into());
        Fault::new(code, failure.message.as_str(), data)
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn to_value(&self) -> Value {
        let mut error = Object::new();
        error.insert("code".into(), i64::from(self.code as i32).into());
        error.insert("message".into(), self.message.as_str().into());
        if !self.data.is_null() {
            error.insert("data".into(), self.data.clone());
        }
        Value::Object(error)
    }
}

/// The parts of an error that a program looks at; what is unknown is left out.
fn data(step: Option<&str>, attempt: Option<u32>, retriable: bool, details: Value) -> Value {
    let mut data = Object::new();
    if let Some(step) = step {
        data.insert("step_id".into(), step.into());
    }
    if let Some(attempt) = attempt {
        data.insert("attempt".into(), attempt.into());
    }
    data.insert("retriable".into(), retriable.into());
    if !details.is_null() {
        data.insert("details".into(), details);
    }
    Value::Object(data)
}
