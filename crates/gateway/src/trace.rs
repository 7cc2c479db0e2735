//! The port to a tracer of requests: a span for the request, and one for each time that an upstream is asked.
//!
//! Invariants: what is recorded here holds no secret; the texts of clients and models go only to a tracer that
//! asks for them, as they were sent and with secrets taken out. A span that is dropped without an end was cut off.

use std::fmt;

use stave_llm::prices::Cost;
use stave_llm::{Provider, Request, Response, Usage};

use crate::records::RequestRecord;

/// Someone who traces requests. It must not block.
pub trait RequestTracer: Send + Sync + fmt::Debug {
    /// Begins the span of a request.
    fn begin(&self, work: &RequestWork<'_>) -> Box<dyn RequestSpan>;
}

/// A request that is under way.
pub trait RequestSpan: Send + Sync + fmt::Debug {
    /// Begins the span of one time that an upstream is asked.
    fn attempt(&self, work: &AttemptWork<'_>) -> Box<dyn AttemptSpan>;

    /// Whether the span is kept, so that it is worth while to read the answer for it.
    fn is_recorded(&self) -> bool;

    /// Whether what clients and models said is wanted.
    fn wants_content(&self) -> bool;

    fn end(self: Box<Self>, record: &RequestRecord);
}

/// An upstream that is being asked.
pub trait AttemptSpan: Send + Sync + fmt::Debug {
    /// The header `traceparent` by which the upstream can continue the trace.
    fn trace_parent(&self) -> String;

    fn end(self: Box<Self>, end: &AttemptEnd<'_>);
}

/// What a request's span begins with.
#[derive(Debug, Clone, Copy)]
pub struct RequestWork<'w> {
    pub id: &'w str,
    /// The path as a template.
    pub path: &'static str,
    /// The client's header `traceparent`, as it came.
    pub trace_parent: Option<&'w str>,
}

/// What an attempt's span begins with.
#[derive(Debug, Clone, Copy)]
pub struct AttemptWork<'w> {
    /// `chat`, or `count_tokens`.
    pub operation: &'static str,
    pub upstream: &'w str,
    pub provider: Provider,
    pub host: &'w str,
    pub port: u16,
    pub model: &'w str,
    pub max_tokens: Option<u64>,
    pub is_streamed: bool,
    /// Counted from 1 over all upstreams.
    pub number: u32,
    /// Only for someone who wants content.
    pub request: Option<&'w Request>,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttemptEnd<'e> {
    /// A word for what went wrong; `None` when the answer came whole.
    pub error: Option<&'e str>,
    /// The answer, when it could be read.
    pub response: Option<&'e Response>,
    /// The answer without secrets; only for someone who wants content.
    pub content: Option<&'e Response>,
    /// As it is written down: told by the provider, or estimated.
    pub usage: Usage,
    pub cost: Option<Cost>,
}
