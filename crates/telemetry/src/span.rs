//! Spans of runs, told to OpenTelemetry.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::Span as SdkSpan;
use stave_llm::Response;
use stave_llm::prices::Cost;
use stave_runtime::trace::{End, ModelWork, RunWork, TraceParent, TraceSpan, Tracer, Work};
use stave_runtime::{Failure, FailureKind, NodeReport, RunReport};

use crate::attributes::{self, ERROR, KIND, NODE, OPERATION, RUN, STATUS, TOOL, WORKFLOW, count, text};
use crate::messages;
use crate::metrics::dollars;
use crate::telemetry::{Shared, Telemetry};

impl Tracer for Telemetry {
    fn begin(&self, run: &RunWork<'_>, parent: Option<&TraceParent>) -> Option<Box<dyn TraceSpan>> {
        let context = continued(parent);
        let kind = if parent.is_some() { SpanKind::Server } else { SpanKind::Internal };
        let attributes = vec![
            KeyValue::new(OPERATION, "invoke_workflow"),
            text(WORKFLOW, run.flow),
            text(RUN, run.run_id),
            KeyValue::new("stave.run.resumed", run.is_resumed),
        ];
        self.shared.metrics.began(run.flow);
        let name = format!("invoke_workflow {}", run.flow);
        let of = Of::Run;
        Some(RunSpan::start(&self.shared, Arc::from(run.flow), &context, kind, name, attributes, of))
    }
}

/// A span that is under way. Dropped without an end, it says that it was cut off.
#[derive(Debug)]
struct RunSpan {
    shared: Arc<Shared>,
    flow: Arc<str>,
    span: Mutex<SdkSpan>,
    started: Duration,
    of: Of,
    has_ended: bool,
}

/// What a span represents, as far as its end needs to know.
#[derive(Debug)]
enum Of {
    Run,
    Step,
    Attempt,
    /// What the metrics of a model's operation say besides its models.
    Model(Vec<KeyValue>),
    Tool(String),
}

impl RunSpan {
    fn start(
        shared: &Arc<Shared>,
        flow: Arc<str>,
        parent: &Context,
        kind: SpanKind,
        name: String,
        attributes: Vec<KeyValue>,
        of: Of,
    ) -> Box<dyn TraceSpan> {
        let builder = SpanBuilder::from_name(name).with_kind(kind).with_attributes(attributes);
        let span = shared.tracer.build_with_context(builder, parent);
        Box::new(RunSpan {
            started: shared.clock.elapsed(),
            shared: Arc::clone(shared),
            flow,
            span: Mutex::new(span),
            of,
            has_ended: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, SdkSpan> {
        self.span.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn took(&self) -> Duration {
        self.shared.clock.elapsed().saturating_sub(self.started)
    }

    /// Says why the work failed; in words only when content is captured, since the words may repeat it.
    fn failed(&self, code: &str, message: Option<&str>) {
        let words = message.filter(|_| self.shared.captures_content).unwrap_or_default();
        let mut span = self.lock();
        span.set_attribute(text(ERROR, code));
        span.set_status(Status::error(words.to_owned()));
    }

    fn fail_with(&self, failure: &Failure) {
        self.lock().set_attribute(KeyValue::new("stave.failure.kind", failure.kind.word()));
        self.failed(failure.code.0, Some(&failure.message));
    }

    fn end_run(&self, report: &RunReport) {
        let status = match report.result.as_ref().map_err(|failed| failed.failure.kind) {
            Ok(_) => "ok",
            Err(FailureKind::Waiting) => "waiting",
            Err(FailureKind::Cancelled) => "cancelled",
            Err(FailureKind::Interrupted) => "interrupted",
            Err(_) => "error",
        };
        self.lock().set_attribute(KeyValue::new(STATUS, status));
        let usage = report.usage();
        if usage.total() > 0 {
            self.lock().set_attributes(attributes::usage(&usage));
            self.lock()
                .set_attributes(report.cost().map(|cost| KeyValue::new("stave.cost.usd", dollars(cost))));
        }
        // A run that waits for a person has not failed.
        if let Err(failed) = &report.result
            && status != "waiting"
        {
            self.fail_with(&failed.failure);
            self.lock().set_attributes(failed.node.as_deref().map(|node| text(NODE, node)));
        }
        self.shared.metrics.run(report, status);
    }

    fn end_step(&self, report: &NodeReport) {
        let mut facts = vec![
            KeyValue::new(STATUS, report.status.word()),
            count("stave.node.attempts", report.attempts.into()),
        ];
        facts.extend(report.cached.then(|| KeyValue::new("stave.node.cached", true)));
        facts.extend(report.reused.then(|| KeyValue::new("stave.node.reused", true)));
        facts.extend(report.degraded.then(|| KeyValue::new("stave.node.degraded", true)));
        facts.extend(report.origin.map(|origin| count("code.line.number", origin.line.into())));
        self.lock().set_attributes(facts);
        if let Some(failure) = &report.failure {
            self.fail_with(failure);
        }
        self.shared.metrics.step(&self.flow, report, self.took());
    }

    fn end_model(
        &self,
        of: &[KeyValue],
        response: Result<&Response, &str>,
        content: Option<&Response>,
        attempts: usize,
        cost: Option<Cost>,
    ) {
        self.lock().set_attribute(count("stave.model.attempts", attempts as u64));
        let mut of = of.to_vec();
        match response {
            Ok(response) => {
                self.lock().set_attributes(attributes::response(response));
                self.lock().set_attributes(cost.map(|cost| KeyValue::new("stave.cost.usd", dollars(cost))));
                let model = response.model.as_deref();
                of.extend(model.map(|model| text(attributes::RESPONSE_MODEL, model)));
                if let Some(usage) = &response.usage {
                    self.shared.metrics.used(&of, usage, cost);
                }
            }
            Err(error) => self.failed(error, None),
        }
        if let Some(content) = content {
            self.lock().set_attribute(text("gen_ai.output.messages", &messages::output(content)));
        }
        self.shared.metrics.operation(&of, self.took(), response.err());
    }

    fn end_tool(&self, name: &str, is_error: bool, result: Option<&str>) {
        if is_error {
            self.failed("tool_error", None);
        }
        if let Some(result) = result {
            let result = messages::bounded(result.to_owned());
            self.lock().set_attribute(KeyValue::new("gen_ai.tool.call.result", result));
        }
        self.shared.metrics.tool(name, self.took(), is_error);
    }
}

impl TraceSpan for RunSpan {
    fn child(&self, work: &Work<'_>) -> Box<dyn TraceSpan> {
        let (name, kind, attributes, of) = described(work);
        let parent = below(&self.lock());
        RunSpan::start(&self.shared, Arc::clone(&self.flow), &parent, kind, name, attributes, of)
    }

    fn retried(&self, error: &str, wait: Option<Duration>) {
        let mut attributes = vec![text(ERROR, error)];
        attributes.extend(wait.map(|wait| KeyValue::new("stave.retry.wait", wait.as_secs_f64())));
        self.lock().add_event("retry", attributes);
    }

    fn end(mut self: Box<Self>, end: &End<'_>) {
        self.has_ended = true;
        match (end, &self.of) {
            (End::Run(report), _) => self.end_run(report),
            (End::Step(report), _) => self.end_step(report),
            (End::Attempt(Err(failure)), _) => self.fail_with(failure),
            (End::Model { response, content, attempts, cost }, Of::Model(of)) => {
                self.end_model(of, *response, *content, *attempts, *cost);
            }
            (End::Tool { is_error, result }, Of::Tool(name)) => self.end_tool(name, *is_error, *result),
            _ => {}
        }
    }

    fn trace_parent(&self) -> TraceParent {
        trace_parent(&self.lock())
    }

    fn wants_content(&self) -> bool {
        // A span that is not recorded has no use for it.
        self.shared.captures_content && self.lock().is_recording()
    }
}

impl Drop for RunSpan {
    fn drop(&mut self) {
        if !self.has_ended {
            self.failed("cut_off", None);
        }
        if matches!(self.of, Of::Run) {
            self.shared.metrics.over(&self.flow);
        }
        self.lock().end();
    }
}

/// The place of a span that continues somebody else's trace, or begins one.
pub(crate) fn continued(parent: Option<&TraceParent>) -> Context {
    parent.map_or_else(Context::new, |parent| {
        let flags = if parent.is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let (trace, span) = (TraceId::from(parent.trace_id), SpanId::from(parent.span_id));
        let parent = SpanContext::new(trace, span, flags, true, TraceState::default());
        Context::new().with_remote_span_context(parent)
    })
}

/// The place of a span that is part of another.
pub(crate) fn below(span: &SdkSpan) -> Context {
    Context::new().with_remote_span_context(span.span_context().clone())
}

/// What another party needs to continue the trace below a span.
pub(crate) fn trace_parent(span: &SdkSpan) -> TraceParent {
    let context = span.span_context();
    TraceParent {
        trace_id: u128::from_be_bytes(context.trace_id().to_bytes()),
        span_id: u64::from_be_bytes(context.span_id().to_bytes()),
        is_sampled: context.is_sampled(),
    }
}

/// The name, kind and attributes that a span begins with.
fn described(work: &Work<'_>) -> (String, SpanKind, Vec<KeyValue>, Of) {
    match work {
        Work::Step { node, kind } => {
            let attributes = vec![text(NODE, node), text(KIND, kind)];
            (format!("step {node}"), SpanKind::Internal, attributes, Of::Step)
        }
        Work::Attempt { number } => {
            let attributes = vec![count("stave.attempt", (*number).into())];
            (format!("attempt {number}"), SpanKind::Internal, attributes, Of::Attempt)
        }
        Work::Model(model) => described_model(model),
        Work::Tool { name, call_id, arguments } => {
            let mut attributes = vec![
                KeyValue::new(OPERATION, "execute_tool"),
                text(TOOL, name),
                text("gen_ai.tool.call.id", call_id),
                KeyValue::new("gen_ai.tool.type", "function"),
            ];
            let arguments = arguments.map(|arguments| messages::bounded(arguments.to_owned()));
            attributes
                .extend(arguments.map(|arguments| KeyValue::new("gen_ai.tool.call.arguments", arguments)));
            let of = Of::Tool((*name).to_owned());
            (format!("execute_tool {name}"), SpanKind::Internal, attributes, of)
        }
    }
}

fn described_model(work: &ModelWork<'_>) -> (String, SpanKind, Vec<KeyValue>, Of) {
    let target = work.target;
    let mut of = vec![
        KeyValue::new(OPERATION, "chat"),
        KeyValue::new(attributes::PROVIDER, attributes::provider(target.provider)),
        text(attributes::REQUEST_MODEL, &target.model),
    ];
    of.extend(attributes::server(target));
    let mut attributes = of.clone();
    let kind = if work.is_structured { "json" } else { "text" };
    attributes.push(KeyValue::new("gen_ai.output.type", kind));
    attributes.extend(work.max_tokens.map(|most| count("gen_ai.request.max_tokens", most)));
    attributes.extend(work.temperature.map(|warmth| KeyValue::new("gen_ai.request.temperature", warmth)));
    attributes.extend(work.request.map(|request| text("gen_ai.input.messages", &messages::input(request))));
    (format!("chat {}", target.model), SpanKind::Client, attributes, Of::Model(of))
}
