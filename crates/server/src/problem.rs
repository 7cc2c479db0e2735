//! Errors as problem documents (RFC 9457), with the statuses that clients act on.

use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};
use stave_canon::Value;
use stave_runtime::journal::JournalError;
use stave_runtime::{Failure, FailureKind, RunFailure};
use stave_shape::Shape as _;

use crate::api::ProblemDocument;
use crate::api::text_types::Finding;
use crate::message::{Reply, reply};

/// Why a request is not answered with what it asked for.
///
/// Boxed parts keep results small: most requests have none of this.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem(Box<Facts>);

#[derive(Debug, Clone, PartialEq)]
struct Facts {
    status: StatusCode,
    /// A stable name; for failures of a run its diagnostic code.
    code: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    document: ProblemDocument,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Problem {
        Problem(Box::new(Facts {
            status,
            code: code.to_owned(),
            headers: Vec::new(),
            document: ProblemDocument {
                kind: format!("urn:stave:{code}"),
                title: status.canonical_reason().unwrap_or("Error").to_owned(),
                status: status.as_u16(),
                detail: detail.into(),
                ..ProblemDocument::default()
            },
        }))
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    pub(crate) fn not_found(what: &str, name: &str) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not-found", format!("there is no {what} `{name}`"))
    }

    /// The server cannot take this now, and may a little later.
    pub(crate) fn busy(status: StatusCode, code: &str, detail: &str) -> Problem {
        Problem::new(status, code, detail).with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
    }

    pub(crate) fn timeout(run_id: &str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::GATEWAY_TIMEOUT, "request-timeout", detail).of_run(run_id)
    }

    /// What became of a run that failed.
    pub(crate) fn failed(run_id: &str, failed: &RunFailure) -> Problem {
        let mut problem = Problem::refused(&failed.failure);
        problem.0.document.node = failed.node.clone().into();
        problem.of_run(run_id)
    }

    /// Why no run begins.
    pub(crate) fn refused(failure: &Failure) -> Problem {
        let mut problem =
            Problem::new(status_of(failure.kind, failure.code.0), failure.code.0, &failure.message);
        problem.0.document.title = title_of(failure.kind).to_owned();
        problem
    }

    pub(crate) fn journal(error: &JournalError) -> Problem {
        let (status, code) = match error {
            JournalError::UnknownRun(_) => (StatusCode::NOT_FOUND, "not-found"),
            JournalError::NoSuchNode { .. } => (StatusCode::NOT_FOUND, "not-found"),
            JournalError::Ended { .. } => (StatusCode::CONFLICT, "run-ended"),
            JournalError::Busy(_) | JournalError::Lost(_) => (StatusCode::CONFLICT, "run-busy"),
            JournalError::Exists(_) | JournalError::Started(_) => (StatusCode::CONFLICT, "run-exists"),
            JournalError::Quarantined(_) => {
                let detail = format!("{error}; resume it with `{{\"force\": true}}` to run it anyway");
                return Problem::new(StatusCode::CONFLICT, "run-quarantined", detail);
            }
            JournalError::Ambiguous { .. } => (StatusCode::CONFLICT, "run-ambiguous"),
            JournalError::Unended { .. } => (StatusCode::CONFLICT, "run-busy"),
            JournalError::AuthNeeded(_) => (StatusCode::BAD_REQUEST, "auth-needed"),
            JournalError::AuthDiffers(_) => (StatusCode::FORBIDDEN, "auth-differs"),
            JournalError::AuthRefused(_) => (StatusCode::BAD_REQUEST, "auth-refused"),
            JournalError::NotAsked { .. } => (StatusCode::CONFLICT, "not-asked"),
            JournalError::QuestionChanged { .. } => (StatusCode::CONFLICT, "question-changed"),
            JournalError::DecisionUsed { .. } => (StatusCode::CONFLICT, "decision-used"),
            JournalError::StateConflict => (StatusCode::CONFLICT, "state-conflict"),
            JournalError::RequestTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "request-too-large"),
            JournalError::TooLarge { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "result-too-large"),
            JournalError::Unreachable(_) => (StatusCode::SERVICE_UNAVAILABLE, "engine-unreachable"),
            JournalError::Database(error) if error.is_transient() => {
                let detail = "the journal cannot be written at the moment; try again";
                return Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "journal-failed", detail);
            }
            JournalError::Damaged(_) | JournalError::Database(_) => {
                // What the database says can name files of the machine.
                let detail = "what happened could not be read or written down";
                return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "journal-failed", detail);
            }
        };
        Problem::new(status, code, error.to_string())
    }

    pub(crate) fn of_run(mut self, run_id: &str) -> Problem {
        self.0.document.trace_id = Some(run_id.to_owned()).into();
        self
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Problem {
        self.0.headers.push((name, value));
        self
    }

    /// Adds the reason why an edit was refused, and what can be done about it.
    pub(crate) fn with_reason(mut self, reason: &str, help: Option<String>) -> Problem {
        self.0.document.reason = Some(reason.to_owned());
        self.0.document.help = Some(help.into());
        self
    }

    pub(crate) fn with_diagnostics(mut self, diagnostics: Vec<Finding>) -> Problem {
        self.0.document.diagnostics = Some(diagnostics);
        self
    }

    /// Adds the text that the diagnostics are about.
    pub(crate) fn with_text(mut self, text: String) -> Problem {
        self.0.document.text = Some(text);
        self
    }

    /// Adds the sentences that are understood.
    pub(crate) fn with_forms(mut self, forms: &[&str]) -> Problem {
        self.0.document.forms = Some(forms.iter().map(|form| (*form).to_owned()).collect());
        self
    }

    /// Adds the hash of what a file holds now, or null if there is no file.
    pub(crate) fn with_hash(mut self, hash: Option<String>) -> Problem {
        self.0.document.hash = Some(hash.into());
        self
    }

    /// The stable name of what is wrong.
    pub(crate) fn code(&self) -> &str {
        &self.0.code
    }

    #[cfg(test)]
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status
    }

    pub(crate) fn to_value(&self) -> Value {
        self.0.document.write()
    }

    pub(crate) fn into_reply(self) -> Reply {
        let mut answer = reply(self.0.status, "application/problem+json", self.to_value().to_string());
        for (name, value) in self.0.headers {
            answer.headers_mut().insert(name, value);
        }
        if let Some(run_id) =
            self.0.document.trace_id.0.as_deref().and_then(|run| HeaderValue::from_str(run).ok())
        {
            answer.headers_mut().insert(crate::message::RUN_ID, run_id);
        }
        answer
    }
}

fn status_of(kind: FailureKind, code: &str) -> StatusCode {
    match kind {
        FailureKind::Request if code == "missing-context" => StatusCode::BAD_REQUEST,
        FailureKind::Request | FailureKind::Value if code != "invalid-output" => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        FailureKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        FailureKind::Upstream | FailureKind::Validation => StatusCode::BAD_GATEWAY,
        FailureKind::Refused | FailureKind::Budget | FailureKind::Denied => StatusCode::FORBIDDEN,
        FailureKind::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::Cancelled | FailureKind::Waiting => StatusCode::CONFLICT,
        FailureKind::Request | FailureKind::Value | FailureKind::Code | FailureKind::Configuration => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

fn title_of(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Request => "The request does not fit the flow",
        FailureKind::Value => "A value does not fit its port",
        FailureKind::Timeout => "The run took too long",
        FailureKind::Upstream => "A model or a host failed",
        FailureKind::Validation => "The model's reply does not fit its schema",
        FailureKind::Refused => "The run was refused",
        FailureKind::Budget => "The run has used up its budget",
        FailureKind::Interrupted => "The run was interrupted and can be resumed",
        FailureKind::Cancelled => "The run was cancelled",
        FailureKind::Waiting => "The run waits for a person",
        FailureKind::Denied => "A person denied it",
        FailureKind::Code => "The flow's code failed",
        FailureKind::Configuration => "The flow is not set up to run here",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem_codes::{PROBLEM_CODES, problem_code};

    #[test]
    fn each_kind_of_failure_has_the_status_that_clients_act_on() {
        let cases = [
            (FailureKind::Request, "missing-context", 400),
            (FailureKind::Request, "invalid-input", 422),
            (FailureKind::Value, "invalid-input", 422),
            (FailureKind::Value, "invalid-output", 500),
            (FailureKind::Timeout, "step-timeout", 504),
            (FailureKind::Upstream, "model-failed", 502),
            (FailureKind::Validation, "model-reply-invalid", 502),
            (FailureKind::Code, "code-failed", 500),
            (FailureKind::Refused, "prompt-refused", 403),
            (FailureKind::Budget, "budget-exceeded", 403),
            (FailureKind::Interrupted, "run-stopped", 503),
            (FailureKind::Configuration, "secret-missing", 500),
            (FailureKind::Cancelled, "run-stopped", 409),
        ];
        for (kind, code, status) in cases {
            assert_eq!(status_of(kind, code).as_u16(), status, "{code}");
        }
    }

    #[test]
    fn what_a_run_is_refused_with_is_described() {
        let run = || "run_1".to_owned();
        for error in [
            JournalError::Ended { run: run(), status: stave_runtime::journal::RunStatus::Ok },
            JournalError::Busy(run()),
            JournalError::Exists(run()),
            JournalError::Quarantined(run()),
            JournalError::AuthNeeded(run()),
            JournalError::AuthDiffers(run()),
            JournalError::AuthRefused(run()),
            JournalError::StateConflict,
        ] {
            let problem = Problem::journal(&error);
            assert!(problem_code(problem.code()).is_some(), "{}", problem.code());
        }
        for (code, _) in PROBLEM_CODES {
            assert!(stave_diag::lookup(code).is_none(), "{code} has two descriptions");
        }
    }

    #[test]
    fn a_problem_is_what_the_standard_says() {
        let problem = Problem::not_found("flow", "x").of_run("run_1");
        let value = problem.to_value().to_string();
        let wanted = r#"{"type":"urn:stave:not-found","title":"Not Found","status":404,"detail":"there is no flow `x`","node":null,"trace_id":"run_1"}"#;
        assert_eq!(value, wanted);
    }
}
