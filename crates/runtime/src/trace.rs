//! The port to a tracer of runs: a span for the run and for every step, attempt, model call and tool call
//! in it.
//!
//! Invariants: what is recorded here holds no secret; the texts of people, models and tools go only to a tracer
//! that asks for them. A span that is dropped without an end was cut off with its work.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use stave_llm::prices::Cost;
use stave_llm::{Request, Response, Target};

use crate::Failure;
use crate::journal::hide;
use crate::report::{NodeReport, RunReport};

/// Someone who traces runs. It must not block.
pub trait Tracer: Send + Sync + fmt::Debug {
    /// Begins the span of a run, below the caller's when there is one. `None` when nobody looks.
    fn begin(&self, run: &RunWork<'_>, parent: Option<&TraceParent>) -> Option<Box<dyn TraceSpan>>;
}

/// Something that takes time and is under way.
pub trait TraceSpan: Send + Sync + fmt::Debug {
    /// Begins something that is part of this.
    fn child(&self, work: &Work<'_>) -> Box<dyn TraceSpan>;

    /// A try failed and another follows.
    fn retried(&self, error: &str, wait: Option<Duration>);

    fn end(self: Box<Self>, end: &End<'_>);

    /// What another party needs to continue the trace below this span.
    fn trace_parent(&self) -> TraceParent;

    /// Whether what people, models and tools said is wanted.
    fn wants_content(&self) -> bool;
}

/// A run that begins, or that is taken up again.
#[derive(Debug, Clone, Copy)]
pub struct RunWork<'w> {
    pub run_id: &'w str,
    pub flow: &'w str,
    /// Whether steps of it have been done before.
    pub is_resumed: bool,
}

/// What a span inside a run represents.
#[derive(Debug, Clone, Copy)]
pub enum Work<'w> {
    Step {
        node: &'w str,
        kind: &'w str,
    },
    /// One try of a step, counted from 1.
    Attempt {
        number: u32,
    },
    Model(ModelWork<'w>),
    Tool {
        name: &'w str,
        call_id: &'w str,
        /// As the model wrote them; only for someone who wants content.
        arguments: Option<&'w str>,
    },
}

/// A question to a model, with all tries that it takes.
#[derive(Debug, Clone, Copy)]
pub struct ModelWork<'w> {
    pub target: &'w Target,
    pub max_tokens: Option<u64>,
    pub temperature: Option<f64>,
    /// Whether the answer has to fit a schema.
    pub is_structured: bool,
    /// Only for someone who wants content.
    pub request: Option<&'w Request>,
}

/// What came of a span's work.
#[derive(Debug, Clone, Copy)]
pub enum End<'e> {
    Run(&'e RunReport),
    Step(&'e NodeReport),
    Attempt(Result<(), &'e Failure>),
    Model {
        /// The reply, or what kind of error there was instead.
        response: Result<&'e Response, &'e str>,
        /// The reply without secrets; only for someone who wants content.
        content: Option<&'e Response>,
        attempts: usize,
        cost: Option<Cost>,
    },
    Tool {
        is_error: bool,
        /// Only for someone who wants content.
        result: Option<&'e str>,
    },
}

/// Nobody traces.
impl Tracer for () {
    fn begin(&self, _: &RunWork<'_>, _: Option<&TraceParent>) -> Option<Box<dyn TraceSpan>> {
        None
    }
}

/// A span, or nothing where nobody traces.
#[derive(Debug, Default)]
pub struct OptionalSpan {
    span: Option<Box<dyn TraceSpan>>,
    /// Whether what was said, and the words of failures, must not be traced.
    hides: bool,
}

impl OptionalSpan {
    pub(crate) fn new(span: Option<Box<dyn TraceSpan>>) -> OptionalSpan {
        OptionalSpan { span, hides: false }
    }

    pub(crate) fn child(&self, work: &Work<'_>) -> OptionalSpan {
        OptionalSpan { span: self.span.as_ref().map(|span| span.child(work)), hides: self.hides }
    }

    /// The same, for work on data that the collector may not have. What is part of it hides the same.
    pub(crate) fn hiding(mut self, hides: bool) -> OptionalSpan {
        self.hides |= hides;
        self
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.span.is_some()
    }

    pub(crate) fn wants_content(&self) -> bool {
        !self.hides && self.span.as_ref().is_some_and(|span| span.wants_content())
    }

    pub(crate) fn retried(&self, error: &str, wait: Option<Duration>) {
        if let Some(span) = &self.span {
            span.retried(error, wait);
        }
    }

    pub(crate) fn end(self, end: &End<'_>) {
        let Some(span) = self.span else { return };
        if !self.hides {
            return span.end(end);
        }
        match end {
            End::Run(report) => {
                let mut report = (*report).clone();
                if let Err(failed) = &mut report.result {
                    hide(&mut failed.failure);
                }
                span.end(&End::Run(&report));
            }
            End::Step(report) => {
                let mut report = (*report).clone();
                report.failure.iter_mut().for_each(hide);
                span.end(&End::Step(&report));
            }
            End::Attempt(Err(failure)) => {
                let mut failure = (*failure).clone();
                hide(&mut failure);
                span.end(&End::Attempt(Err(&failure)));
            }
            // They have content only for someone who wants it.
            End::Attempt(Ok(())) | End::Model { .. } | End::Tool { .. } => span.end(end),
        }
    }

    pub(crate) fn trace_parent(&self) -> Option<TraceParent> {
        self.span.as_ref().map(|span| span.trace_parent())
    }
}

/// A place in a trace, as the header `traceparent` of W3C Trace Context writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    pub trace_id: u128,
    pub span_id: u64,
    /// Whether the caller records the trace.
    pub is_sampled: bool,
}

/// A text is not a `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a trace parent")]
pub struct NotATraceParent;

impl FromStr for TraceParent {
    type Err = NotATraceParent;

    /// Reads version 00, and of a later version the part that it shares with it.
    fn from_str(text: &str) -> Result<TraceParent, NotATraceParent> {
        let mut fields = text.trim().split('-');
        let mut field = |length: usize| -> Result<&str, NotATraceParent> {
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            let text = fields.next().filter(|text| text.len() == length && text.bytes().all(is_hex));
            text.ok_or(NotATraceParent)
        };
        let (version, trace, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        let is_longer = fields.next().is_some();
        if version == "ff" || (version == "00" && is_longer) {
            return Err(NotATraceParent);
        }
        let trace_id = u128::from_str_radix(trace, 16).map_err(|_| NotATraceParent)?;
        let span_id = u64::from_str_radix(span, 16).map_err(|_| NotATraceParent)?;
        let flags = u8::from_str_radix(flags, 16).map_err(|_| NotATraceParent)?;
        if trace_id == 0 || span_id == 0 {
            return Err(NotATraceParent);
        }
        Ok(TraceParent { trace_id, span_id, is_sampled: flags & 1 == 1 })
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_that_is_not_one_is_no_parent() {
        for text in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(text.parse::<TraceParent>(), Err(NotATraceParent), "{text}");
        }
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-follows";
        assert!(later.parse::<TraceParent>().is_ok());
    }

    proptest! {
        #[test]
        fn a_parent_is_read_as_it_was_written(trace_id in 1_u128.., span_id in 1_u64.., is_sampled: bool) {
            let parent = TraceParent { trace_id, span_id, is_sampled };
            prop_assert_eq!(parent.to_string().parse(), Ok(parent));
        }

        #[test]
        fn no_text_is_too_strange(text in ".*") {
            let _ = text.parse::<TraceParent>();
        }
    }
}
