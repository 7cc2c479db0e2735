//! The flow's own tests.

use stave_diag::Span;

use super::{Budget, Extra, Readable, ReadableList, Spanned, Text};
use crate::yaml::Tree;

/// One request, or the turns of one session, with the replies that models and hosts give and what is
/// expected of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowTest {
    pub span: Span,
    pub name: Option<Text>,
    /// A mapping, or a list of them for turns that share their state.
    pub request: Option<Tree>,
    /// A file with recorded model replies, relative to the flow's.
    pub recording: Option<Text>,
    /// Model replies, in the form that recordings have.
    pub models: Option<Tree>,
    /// Replies of hosts.
    pub http: Option<Tree>,
    /// What people decide, by node: `approve` or `deny`.
    pub decisions: Option<Tree>,
    pub expect: Option<Expectation>,
    pub extra: Vec<Extra>,
}

/// What a test expects; what it does not name is not compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    pub key_span: Span,
    pub span: Span,
    pub status: Readable<Spanned<ExpectedStatus>>,
    /// The whole output; for turns a list with one for each.
    pub output: Option<Tree>,
    /// What the output must hold, beside which it may hold more.
    pub contains: Option<Tree>,
    /// The code of the failure.
    pub error: Readable<Text>,
    /// The nodes that ran, in the order of the file.
    pub path: Option<ReadableList<Text>>,
    pub skipped: Option<ReadableList<Text>>,
    pub model_calls: Option<Spanned<u64>>,
    pub http_calls: Option<Spanned<u64>>,
    /// What the run may use up at most.
    pub budget: Option<Budget>,
    pub extra: Vec<Extra>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedStatus {
    Ok,
    Error,
}
