//! The machine form of reports, questions and decisions: what the command line prints as JSON and the server answers with.
//!
//! Each form is declared once as a type, so the reader, the writer and the JSON Schema agree.

use std::time::Duration;

use stave_canon::{Object, Value};
use stave_engine::RunFailure;
use stave_llm::Usage;
use stave_llm::prices::Cost;
use stave_shape::{Nullable, Ordered, Shape};

use crate::Failure;
use crate::journal::{Decision, Question, RunStatus, questions};
use crate::report::{NodeReport, RunReport, Status};

/// Tokens of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(name = "Usage")]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
}

impl From<&Usage> for TokenUsage {
    fn from(usage: &Usage) -> Self {
        TokenUsage {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
        }
    }
}

/// Tokens of all model calls of a run, and their cost if every model has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub struct RunUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    #[shape(not_null)]
    pub cost_micros: Option<u64>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Shape)]
pub struct RunError {
    pub message: String,
    pub code: String,
    pub kind: String,
    pub node: Nullable<String>,
    pub attempt: u32,
    pub retryable: bool,
    #[shape(not_null)]
    pub details: Option<Value>,
    #[shape(not_null)]
    pub line: Option<u32>,
    #[shape(not_null)]
    pub column: Option<u32>,
}

impl From<&RunFailure> for RunError {
    fn from(failed: &RunFailure) -> Self {
        let failure = &failed.failure;
        RunError {
            message: failure.message.clone(),
            code: failure.code.0.to_owned(),
            kind: failure.kind.word().to_owned(),
            node: failed.node.clone().into(),
            attempt: failed.attempts,
            retryable: failure.retryable,
            details: details(failure),
            line: failure.origin.map(|origin| origin.line),
            column: failure.origin.map(|origin| origin.column),
        }
    }
}

/// Why a node failed.
#[derive(Debug, Clone, PartialEq, Shape)]
pub struct NodeError {
    pub reason: String,
    pub code: String,
    pub kind: String,
    pub node: String,
    pub attempt: u32,
    pub retryable: bool,
    #[shape(not_null)]
    pub details: Option<Value>,
    #[shape(not_null)]
    pub line: Option<u32>,
    #[shape(not_null)]
    pub column: Option<u32>,
}

impl NodeError {
    /// The failure of a node without its location, as an error port passes it on.
    #[must_use]
    pub fn of(node: &NodeReport) -> Option<NodeError> {
        let failure = node.failure.as_ref()?;
        Some(NodeError {
            reason: failure.message.clone(),
            code: failure.code.0.to_owned(),
            kind: failure.kind.word().to_owned(),
            node: node.id.clone(),
            attempt: node.attempts,
            retryable: failure.retryable,
            details: details(failure),
            line: None,
            column: None,
        })
    }

    /// The failure of a node with its location in the flow file.
    #[must_use]
    pub fn located(node: &NodeReport) -> Option<NodeError> {
        let origin = node.failure.as_ref()?.origin;
        let error = NodeError::of(node)?;
        Some(NodeError {
            line: origin.map(|origin| origin.line),
            column: origin.map(|origin| origin.column),
            ..error
        })
    }
}

fn details(failure: &Failure) -> Option<Value> {
    Some(&failure.details).filter(|details| !details.is_null()).cloned()
}

/// The result of a node.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub struct ReportedNode {
    pub status: Status,
    #[shape(rename = "type")]
    pub kind: String,
    pub attempts: u32,
    pub duration_ms: f64,
    /// Start time in milliseconds after the start of the run.
    pub started_ms: Option<f64>,
    pub reason: Option<String>,
    pub error: Option<NodeError>,
    pub model: Option<String>,
    pub usage: Option<TokenUsage>,
    pub cost_micros: Option<u64>,
    pub calls: Option<u64>,
    pub cached: Option<bool>,
    /// Whether the result was reused from the run that this run replays.
    pub reused: Option<bool>,
    pub reused_items: Option<u64>,
    pub degraded: Option<bool>,
    pub dropped_outputs: Option<Vec<String>>,
    pub flagged: Option<Vec<String>>,
    /// Line of the node in the flow file.
    pub line: Option<u32>,
}

impl From<&NodeReport> for ReportedNode {
    fn from(node: &NodeReport) -> Self {
        let list = |texts: &[String]| Some(texts.to_vec()).filter(|texts| !texts.is_empty());
        ReportedNode {
            status: node.status,
            kind: node.kind.clone(),
            attempts: node.attempts,
            duration_ms: milliseconds(node.duration),
            started_ms: node.started.map(milliseconds),
            reason: node.reason.clone(),
            error: NodeError::of(node),
            model: node.model.clone(),
            usage: node.usage.as_ref().map(TokenUsage::from),
            cost_micros: node.cost.map(Cost::micros),
            calls: (node.calls > 0).then(|| node.calls.into()),
            cached: node.cached.then_some(true),
            reused: node.reused.then_some(true),
            reused_items: (node.reused_items > 0).then(|| node.reused_items.into()),
            degraded: node.degraded.then_some(true),
            dropped_outputs: list(&node.dropped_outputs),
            flagged: list(&node.flagged),
            line: node.origin.map(|origin| origin.line),
        }
    }
}

/// Status, output or error, nodes and token usage of a run.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "RunReport")]
pub struct RunReportDocument {
    pub run_id: String,
    pub flow: String,
    pub status: RunStatus,
    pub output: Value,
    pub error: Nullable<RunError>,
    /// Nodes by id.
    pub nodes: Ordered<ReportedNode>,
    pub usage: RunUsage,
    pub duration_ms: f64,
}

impl From<&RunReport> for RunReportDocument {
    fn from(report: &RunReport) -> Self {
        let usage = report.usage();
        let nodes = report.nodes.iter().filter(|node| !node.id.starts_with('_'));
        RunReportDocument {
            run_id: report.run_id.clone(),
            flow: report.flow.clone(),
            status: report.status(),
            output: report.result.as_ref().map_or(Value::Null, Clone::clone),
            error: report.result.as_ref().err().map(RunError::from).into(),
            nodes: Ordered(nodes.map(|node| (node.id.clone(), node.into())).collect()),
            usage: RunUsage {
                input_tokens: usage.input,
                output_tokens: usage.output,
                cache_read_tokens: usage.cache_read,
                cache_write_tokens: usage.cache_write,
                cost_micros: report.cost().map(Cost::micros),
            },
            duration_ms: milliseconds(report.duration),
        }
    }
}

/// A question to a person, with the values to decide about. A decision refers to its digest.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "Question")]
pub struct OpenQuestion {
    /// Address to send the decision to: a node, a tool call or an item of a list.
    pub node: String,
    pub question: Nullable<String>,
    pub values: Object,
    pub digest: String,
}

impl From<&Question> for OpenQuestion {
    fn from(question: &Question) -> Self {
        OpenQuestion {
            node: question.address(),
            question: question.text.clone().into(),
            values: question.values.clone(),
            digest: question.digest.clone(),
        }
    }
}

/// A recorded decision.
#[derive(Debug, Clone, PartialEq, Shape)]
pub struct DecisionMade {
    /// Address of the question: a node, a tool call or an item of a list.
    pub node: String,
    pub approved: bool,
    pub comment: Nullable<String>,
    pub decided_at: String,
    pub decided_by: Nullable<String>,
    pub digest: Nullable<String>,
}

impl DecisionMade {
    /// The decision about the question at an execution's path.
    #[must_use]
    pub fn new(path: &str, decision: &Decision) -> DecisionMade {
        DecisionMade {
            node: questions::address(path),
            approved: decision.approved,
            comment: decision.comment.clone().into(),
            decided_at: decision.decided_at.to_string(),
            decided_by: decision.decided_by.clone().into(),
            digest: decision.digest.clone().into(),
        }
    }
}

/// Milliseconds with a fraction, rounded to microseconds.
#[must_use]
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use stave_diag::codes::run as codes;
    use stave_engine::FailureKind;

    #[test]
    fn a_reported_error_is_what_the_error_port_passes_on() {
        let mut node = NodeReport::waiting("ask", "llm.chat", None);
        node.attempts = 2;
        node.failure = Some(Failure::new(codes::MODEL_FAILED, FailureKind::Upstream, "no answer"));
        let passed_on = node.failure.as_ref().map(|failure| failure.to_error_value("ask", 2));
        assert_eq!(NodeError::of(&node).map(|error| error.write()), passed_on);
    }

    #[test]
    fn a_decision_names_the_address_of_its_question() {
        let decision = Decision {
            approved: true,
            comment: None,
            decided_at: stave_canon::Timestamp::UNIX_EPOCH,
            digest: None,
            decided_by: None,
        };
        assert_eq!(DecisionMade::new("each/3:ask", &decision).node, "each[3].ask");
    }
}
