//! A request's spans, or nothing where nobody traces.
//!
//! Invariant: a reply is read for its span only while the span is kept, and no more of it than a bound; what is
//! beyond it passes all the same.

use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use stave_block::{GateRules, Sensitivity, Surface, redaction};
use stave_llm::prices::Cost;
use stave_llm::{Accumulator, Part, PartKind, Request, Response, Secret, Usage};

use super::interface::{Endpoint, codec};
use super::received::Received;
use super::setup::Candidate;
use crate::records::{RequestOutcome, RequestRecord};
use crate::trace::{AttemptEnd, AttemptSpan, AttemptWork, RequestSpan, RequestTracer, RequestWork};

pub(crate) const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
pub(crate) const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// The most of a reply that is kept for its span.
const LONGEST_REPLY: usize = 256 << 10;

#[derive(Debug, Default)]
pub(crate) struct Traced {
    request: Option<Box<dyn RequestSpan>>,
    attempt: Option<Box<dyn AttemptSpan>>,
    reply: Option<Kept>,
    /// The answer, where it was read for the client anyhow.
    response: Option<Response>,
    /// What an upstream must not be quoted with.
    key: Option<Secret>,
    /// What the gate looks for.
    rules: Arc<GateRules>,
}

/// A reply as the client got it.
#[derive(Debug)]
struct Kept {
    surface: Surface,
    is_stream: bool,
    bytes: Vec<u8>,
}

impl Traced {
    pub(crate) fn begin(
        tracer: Option<&dyn RequestTracer>,
        id: &str,
        endpoint: Endpoint,
        headers: &HeaderMap,
        rules: Arc<GateRules>,
    ) -> Traced {
        let trace_parent = headers.get(TRACE_PARENT).and_then(|value| value.to_str().ok());
        let work = RequestWork { id, path: endpoint.path(), trace_parent };
        Traced { request: tracer.map(|tracer| tracer.begin(&work)), rules, ..Traced::default() }
    }

    /// The request as an upstream gets it, for someone who wants to see it.
    pub(crate) fn content(&self, surface: Surface, body: &[u8], candidate: &Candidate) -> Option<Request> {
        if !self.request.as_ref().is_some_and(|request| request.wants_content()) {
            return None;
        }
        let value = stave_canon::parse_bytes(body).ok()?;
        let mut request = codec(surface).decode_request(value).ok()?;
        let key = candidate.upstream.config.key.as_ref();
        let messages = request.messages.iter_mut();
        messages.for_each(|message| without_secrets(&mut message.content, key, &self.rules));
        Some(request)
    }

    /// Begins to ask an upstream, and sends it its place in the trace.
    pub(crate) fn attempt(
        &mut self,
        received: &Received,
        candidate: &Candidate,
        number: u32,
        request: Option<&Request>,
        headers: &mut HeaderMap,
    ) {
        let Some(span) = &self.request else { return };
        let upstream = &candidate.upstream;
        let attempt = span.attempt(&AttemptWork {
            operation: match received.endpoint {
                Endpoint::CountTokens => "count_tokens",
                Endpoint::ChatCompletions | Endpoint::Responses | Endpoint::Messages => "chat",
            },
            upstream: &upstream.config.name,
            provider: upstream.config.provider,
            host: upstream.host_name(),
            port: upstream.port(),
            model: &candidate.model,
            max_tokens: received.bound.output,
            is_streamed: received.is_stream,
            number,
            request,
        });
        if let Ok(value) = HeaderValue::from_str(&attempt.trace_parent()) {
            headers.insert(TRACE_PARENT, value);
        }
        self.attempt = Some(attempt);
        self.key.clone_from(&upstream.config.key);
    }

    /// The upstream failed, and what comes next is another attempt or the end.
    pub(crate) fn failed(&mut self, error: &str) {
        if let Some(attempt) = self.attempt.take() {
            attempt.end(&AttemptEnd { error: Some(error), ..AttemptEnd::default() });
        }
    }

    /// An answer comes in the words of `surface`.
    pub(crate) fn answers(&mut self, surface: Surface, is_stream: bool) {
        if self.attempt.is_some() && self.request.as_ref().is_some_and(|request| request.is_recorded()) {
            self.reply = Some(Kept { surface, is_stream, bytes: Vec::new() });
        }
    }

    /// The answer as it was read for the client.
    pub(crate) fn answered(&mut self, response: &Response) {
        if self.attempt.is_some() {
            self.response = Some(response.clone());
        }
    }

    /// A piece of the answer passes.
    pub(crate) fn take_in(&mut self, piece: &[u8]) {
        let Some(reply) = &mut self.reply else { return };
        if reply.bytes.len() + piece.len() > LONGEST_REPLY {
            self.reply = None;
        } else {
            reply.bytes.extend_from_slice(piece);
        }
    }

    /// Ends what is still open when the request is over.
    pub(crate) fn end(&mut self, record: &RequestRecord, usage: Usage, cost: Option<Cost>) {
        let Some(request) = self.request.take() else { return };
        if let Some(attempt) = self.attempt.take() {
            let kept = self.reply.take().and_then(Kept::read);
            let mut response = self.response.take().or(kept);
            if let Some(response) = &mut response {
                response.usage = Some(usage);
            }
            let content = response.clone().filter(|_| request.wants_content()).map(|mut response| {
                without_secrets(&mut response.content, self.key.as_ref(), &self.rules);
                response
            });
            let error = match record.outcome {
                RequestOutcome::Answered => None,
                RequestOutcome::Cancelled => Some("cancelled"),
                RequestOutcome::Failed | RequestOutcome::Refused => Some("broken_off"),
            };
            let (response, content) = (response.as_ref(), content.as_ref());
            attempt.end(&AttemptEnd { error, response, content, usage, cost });
        }
        request.end(record);
    }
}

impl Kept {
    /// The answer, whole or as far as it came.
    fn read(self) -> Option<Response> {
        let codec = codec(self.surface);
        if !self.is_stream {
            return codec.decode_response(stave_canon::parse_bytes(&self.bytes).ok()?).ok();
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let mut decoder = codec.stream_decoder();
        let mut events = Vec::new();
        for data in text.lines().filter_map(|line| line.strip_prefix("data:")) {
            let _ = decoder.decode(data.trim_start(), &mut events);
        }
        let mut folded = Accumulator::new();
        events.into_iter().for_each(|event| folded.add(event));
        Some(folded.finish())
    }
}

/// Takes out what the gate knows as a secret, and the upstream's key should anybody repeat it.
fn without_secrets(parts: &mut [Part], key: Option<&Secret>, rules: &GateRules) {
    let clean = |text: &mut String| {
        let (mut left, mut at) = (String::new(), 0);
        let found = rules.find(text);
        for finding in found.iter().filter(|finding| finding.label == Sensitivity::Restricted) {
            left.push_str(text.get(at..finding.range.start).unwrap_or_default());
            left.push_str(&redaction(finding.rule));
            at = finding.range.end;
        }
        if at > 0 {
            left.push_str(text.get(at..).unwrap_or_default());
            *text = left;
        }
        if let Some(key) = key.map(Secret::expose).filter(|key| !key.is_empty() && text.contains(*key)) {
            *text = text.replace(key, "[secret]");
        }
    };
    for part in parts {
        match &mut part.kind {
            PartKind::Text(text) => clean(text),
            PartKind::Thinking(thinking) => clean(&mut thinking.text),
            PartKind::ToolUse(call) => clean(&mut call.arguments),
            PartKind::ToolResult(result) => without_secrets(&mut result.content, key, rules),
            // Nothing of these is recorded.
            PartKind::Image(_) | PartKind::Document(_) | PartKind::Other(_) => {}
        }
    }
}
