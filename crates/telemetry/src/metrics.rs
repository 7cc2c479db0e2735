//! What is counted and measured over all runs and requests.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use stave_llm::Usage;
use stave_llm::prices::Cost;
use stave_runtime::{NodeReport, RunReport};

use crate::attributes::{ERROR, KIND, STATUS, TOKEN_TYPE, TOOL, WORKFLOW, text};

/// The bounds that the conventions give for tokens and for seconds.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// The bounds that the conventions give for requests of servers, and some more, since models take their time.
const REQUEST_SECONDS: [f64; 16] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 60.0, 300.0];
/// Steps that ask nobody take far less than a model.
const STEP_SECONDS: [f64; 12] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0];

#[derive(Debug)]
pub(crate) struct Metrics {
    tokens: Histogram<u64>,
    operation: Histogram<f64>,
    workflow: Histogram<f64>,
    tool: Histogram<f64>,
    step: Histogram<f64>,
    active: UpDownCounter<i64>,
    cost: Counter<f64>,
    request: Histogram<f64>,
    saved: UpDownCounter<f64>,
}

impl Metrics {
    pub(crate) fn new(meter: &Meter) -> Metrics {
        let seconds = |name: &'static str, description: &'static str, bounds: &[f64]| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(bounds.to_vec()).build()
        };
        Metrics {
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Number of input and output tokens used.")
                .with_boundaries(TOKENS.to_vec())
                .build(),
            operation: seconds("gen_ai.client.operation.duration", "GenAI operation duration.", &SECONDS),
            workflow: seconds("gen_ai.workflow.duration", "Duration of whole runs.", &SECONDS),
            tool: seconds("gen_ai.execute_tool.duration", "Duration of tool calls.", &SECONDS),
            step: seconds("stave.step.duration", "Duration of steps, all attempts included.", &STEP_SECONDS),
            active: meter
                .i64_up_down_counter("stave.run.active")
                .with_unit("{run}")
                .with_description("Runs that are under way.")
                .build(),
            cost: meter
                .f64_counter("stave.cost")
                .with_unit("USD")
                .with_description("What model calls cost, by the price table.")
                .build(),
            request: seconds(
                "http.server.request.duration",
                "Duration of HTTP server requests.",
                &REQUEST_SECONDS,
            ),
            saved: meter
                .f64_up_down_counter("stave.gateway.saved")
                .with_unit("USD")
                .with_description(
                    "What requests would have cost as their clients sent them, minus their cost.",
                )
                .build(),
        }
    }

    pub(crate) fn began(&self, flow: &str) {
        self.active.add(1, &[text(WORKFLOW, flow)]);
    }

    pub(crate) fn over(&self, flow: &str) {
        self.active.add(-1, &[text(WORKFLOW, flow)]);
    }

    pub(crate) fn run(&self, report: &RunReport, status: &'static str) {
        let mut attributes = vec![text(WORKFLOW, &report.flow), KeyValue::new(STATUS, status)];
        attributes.extend(failed(report.result.as_ref().err().map(|failed| failed.failure.code.0)));
        self.workflow.record(report.duration.as_secs_f64(), &attributes);
    }

    pub(crate) fn step(&self, flow: &str, report: &NodeReport, took: Duration) {
        let mut attributes =
            vec![text(WORKFLOW, flow), text(KIND, &report.kind), KeyValue::new(STATUS, report.status.word())];
        attributes.extend(failed(report.failure.as_ref().map(|failure| failure.code.0)));
        self.step.record(took.as_secs_f64(), &attributes);
    }

    pub(crate) fn tool(&self, name: &str, took: Duration, is_error: bool) {
        let mut attributes = vec![text(TOOL, name)];
        attributes.extend(failed(is_error.then_some("tool_error")));
        self.tool.record(took.as_secs_f64(), &attributes);
    }

    /// A model's operation: `of` names the operation, the provider and the models.
    pub(crate) fn operation(&self, of: &[KeyValue], took: Duration, error: Option<&str>) {
        let mut attributes = of.to_vec();
        attributes.extend(error.map(|error| text(ERROR, error)));
        self.operation.record(took.as_secs_f64(), &attributes);
    }

    /// A request to the gateway, whatever came of it.
    pub(crate) fn request(&self, of: &[KeyValue], took: Duration) {
        self.request.record(took.as_secs_f64(), of);
    }

    pub(crate) fn saved(&self, dollars: f64) {
        self.saved.add(dollars, &[]);
    }

    pub(crate) fn used(&self, of: &[KeyValue], usage: &Usage, cost: Option<Cost>) {
        for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
            let attributes = [of, &[KeyValue::new(TOKEN_TYPE, kind)]].concat();
            self.tokens.record(tokens, &attributes);
        }
        if let Some(cost) = cost {
            self.cost.add(dollars(cost), of);
        }
    }
}

/// An amount as a float, for what is looked at; sums that count are kept exactly elsewhere.
pub(crate) fn dollars(cost: Cost) -> f64 {
    cost.picodollars() as f64 / 1e12
}

fn failed(code: Option<&'static str>) -> Option<KeyValue> {
    code.map(|code| KeyValue::new(ERROR, code))
}
