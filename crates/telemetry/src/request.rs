//! Spans of the gateway's requests, told to OpenTelemetry: the request as a server's span, and below it one
//! client's span for each time that an upstream was asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, Tracer as _};
use opentelemetry_sdk::trace::Span as SdkSpan;
use stave_gateway::records::{RequestOutcome, RequestRecord};
use stave_gateway::trace::{AttemptEnd, AttemptSpan, AttemptWork, RequestSpan, RequestTracer, RequestWork};

use crate::attributes::{self, ERROR, OPERATION, PROVIDER, REQUEST_MODEL, RESPONSE_MODEL, count, text};
use crate::messages;
use crate::metrics::dollars;
use crate::span::{below, continued, trace_parent};
use crate::telemetry::{Shared, Telemetry};

const METHOD: &str = "http.request.method";
const ROUTE: &str = "http.route";
const STATUS_CODE: &str = "http.response.status_code";

impl RequestTracer for Telemetry {
    fn begin(&self, work: &RequestWork<'_>) -> Box<dyn RequestSpan> {
        // What is no parent is nobody's: the request begins a trace of its own.
        let parent = work.trace_parent.and_then(|header| header.parse().ok());
        let attributes = vec![
            KeyValue::new(METHOD, "POST"),
            KeyValue::new(ROUTE, work.path),
            KeyValue::new("url.scheme", "http"),
            text("stave.request.id", work.id),
        ];
        let builder = SpanBuilder::from_name(format!("POST {}", work.path))
            .with_kind(SpanKind::Server)
            .with_attributes(attributes);
        let open = Open::start(&self.shared, builder, &continued(parent.as_ref()));
        Box::new(Request { open, path: work.path })
    }
}

/// A span that is under way. Dropped without an end, it says that it was cut off.
#[derive(Debug)]
struct Open {
    shared: Arc<Shared>,
    span: Mutex<SdkSpan>,
    started: Duration,
    has_ended: bool,
}

#[derive(Debug)]
struct Request {
    open: Open,
    path: &'static str,
}

#[derive(Debug)]
struct Attempt {
    open: Open,
    /// What the metrics of the operation say besides the model that answered.
    of: Vec<KeyValue>,
}

impl Open {
    fn start(shared: &Arc<Shared>, builder: SpanBuilder, parent: &opentelemetry::Context) -> Open {
        let span = shared.tracer.build_with_context(builder, parent);
        let started = shared.clock.elapsed();
        Open { shared: Arc::clone(shared), span: Mutex::new(span), started, has_ended: false }
    }

    fn lock(&self) -> MutexGuard<'_, SdkSpan> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn took(&self) -> Duration {
        self.shared.clock.elapsed().saturating_sub(self.started)
    }

    fn failed(&self, error: &str) {
        let mut span = self.lock();
        span.set_attribute(text(ERROR, error));
        // Words may repeat what was said.
        span.set_status(Status::error(""));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.has_ended {
            self.failed("cut_off");
        }
        self.lock().end();
    }
}

impl RequestSpan for Request {
    fn attempt(&self, work: &AttemptWork<'_>) -> Box<dyn AttemptSpan> {
        let of = vec![
            KeyValue::new(OPERATION, work.operation),
            KeyValue::new(PROVIDER, attributes::provider(work.provider)),
            text(REQUEST_MODEL, work.model),
            text("server.address", work.host),
            count("server.port", work.port.into()),
        ];
        let mut attributes = of.clone();
        attributes.push(text("stave.upstream", work.upstream));
        attributes.push(count("stave.attempt", work.number.into()));
        attributes.push(KeyValue::new("gen_ai.request.stream", work.is_streamed));
        attributes.extend(work.max_tokens.map(|most| count("gen_ai.request.max_tokens", most)));
        let content = work.request.map(|request| text("gen_ai.input.messages", &messages::input(request)));
        attributes.extend(content);
        let builder = SpanBuilder::from_name(format!("{} {}", work.operation, work.model))
            .with_kind(SpanKind::Client)
            .with_attributes(attributes);
        let parent = below(&self.open.lock());
        Box::new(Attempt { open: Open::start(&self.open.shared, builder, &parent), of })
    }

    fn is_recorded(&self) -> bool {
        self.open.lock().is_recording()
    }

    fn wants_content(&self) -> bool {
        self.open.shared.captures_content && self.is_recorded()
    }

    fn end(mut self: Box<Self>, record: &RequestRecord) {
        self.open.has_ended = true;
        let mut facts = vec![
            count(STATUS_CODE, record.status.into()),
            KeyValue::new("stave.outcome", record.outcome.word()),
            text("stave.tenant", &record.tenant),
            count("stave.attempts", record.attempts.into()),
            count("stave.cache.marks", record.breakpoints.len() as u64),
        ];
        facts.extend(record.key.as_deref().map(|key| text("stave.key.id", key)));
        facts.extend(record.session.as_deref().map(|session| text("gen_ai.conversation.id", session)));
        facts.extend(record.not_planned.as_deref().map(|reason| text("stave.cache.not_planned", reason)));
        // The reason may quote the body; that something failed does not.
        facts.extend(record.failed_open.as_ref().map(|_| KeyValue::new("stave.failed_open", true)));
        facts.extend(record.money.spent.map(|cost| KeyValue::new("stave.cost.usd", dollars(cost))));
        self.open.lock().set_attributes(facts);
        let status = record.status.to_string();
        let error = match record.outcome {
            RequestOutcome::Cancelled => Some("cancelled"),
            _ if record.status >= 400 => Some(status.as_str()),
            RequestOutcome::Failed => Some("broken_off"),
            RequestOutcome::Answered | RequestOutcome::Refused => None,
        };
        // What a client brought about is no failure of the server's, as the conventions have it.
        if record.outcome == RequestOutcome::Failed || record.status >= 500 {
            self.open.failed(error.unwrap_or_default());
        } else {
            self.open.lock().set_attributes(error.map(|error| text(ERROR, error)));
        }
        let mut of = vec![
            KeyValue::new(METHOD, "POST"),
            KeyValue::new(ROUTE, self.path),
            KeyValue::new("url.scheme", "http"),
            count(STATUS_CODE, record.status.into()),
        ];
        of.extend(error.map(|error| text(ERROR, error)));
        self.open.shared.metrics.request(&of, record.durations.total);
        if let (Some(spent), Some(as_sent)) = (record.money.spent, record.money.as_sent) {
            self.open.shared.metrics.saved(dollars(as_sent) - dollars(spent));
        }
    }
}

impl AttemptSpan for Attempt {
    fn trace_parent(&self) -> String {
        trace_parent(&self.open.lock()).to_string()
    }

    fn end(mut self: Box<Self>, end: &AttemptEnd<'_>) {
        self.open.has_ended = true;
        let metrics = &self.open.shared.metrics;
        let mut of = std::mem::take(&mut self.of);
        let has_used = end.usage.total() > 0;
        match end.response {
            Some(response) => self.open.lock().set_attributes(attributes::response(response)),
            None if has_used => self.open.lock().set_attributes(attributes::usage(&end.usage)),
            None => {}
        }
        self.open.lock().set_attributes(end.cost.map(|cost| KeyValue::new("stave.cost.usd", dollars(cost))));
        if let Some(content) = end.content {
            self.open.lock().set_attribute(text("gen_ai.output.messages", &messages::output(content)));
        }
        let model = end.response.and_then(|response| response.model.as_deref());
        of.extend(model.map(|model| text(RESPONSE_MODEL, model)));
        if has_used {
            metrics.used(&of, &end.usage, end.cost);
        }
        if let Some(error) = end.error {
            self.open.failed(error);
        }
        metrics.operation(&of, self.open.took(), end.error);
    }
}
