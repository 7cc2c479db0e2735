//! The tracer and the meter, from their start to the last thing they send.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use stave_canon::Clock;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::collector::Collector;
use crate::metrics::Metrics;
use crate::options::TelemetryOptions;

/// The version of the conventions whose names are used.
const CONVENTIONS: &str = "https://opentelemetry.io/schemas/1.41.0";
const SCOPE: &str = "stave";

/// Traces and measures the runs of this process.
#[derive(Debug)]
pub struct Telemetry {
    pub(crate) shared: Arc<Shared>,
    spans: SdkTracerProvider,
    measurements: SdkMeterProvider,
}

/// What every span needs.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) tracer: SdkTracer,
    pub(crate) metrics: Metrics,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) captures_content: bool,
}

#[derive(Debug, Error)]
pub enum SetupError {
    #[error("the client of the collector cannot be made: {0}")]
    Client(#[from] reqwest::Error),
    #[error("{0}")]
    Exporter(#[from] ExporterBuildError),
}

impl Telemetry {
    /// Starts tracing and measuring. Requests to the collector are made on `runtime`.
    pub fn start(
        options: &TelemetryOptions,
        clock: Arc<dyn Clock>,
        runtime: Handle,
    ) -> Result<Telemetry, SetupError> {
        let collector = Collector::new(runtime)?;
        let resource = Resource::builder()
            .with_service_name(options.service.clone())
            .with_attribute(KeyValue::new("service.version", options.version.clone()))
            .build();
        let mut spans = SdkTracerProvider::builder().with_resource(resource.clone());
        if let Some(endpoint) = &options.traces {
            let exporter = SpanExporter::builder()
                .with_http()
                .with_http_client(collector.clone())
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(endpoint)
                .build()?;
            spans = spans.with_batch_exporter(exporter);
        }
        let mut measurements = SdkMeterProvider::builder().with_resource(resource);
        if let Some(endpoint) = &options.metrics {
            let exporter = MetricExporter::builder()
                .with_http()
                .with_http_client(collector)
                .with_protocol(Protocol::HttpBinary)
                .with_endpoint(endpoint)
                .build()?;
            measurements = measurements.with_periodic_exporter(exporter);
        }
        let (spans, measurements) = (spans.build(), measurements.build());
        let scope = InstrumentationScope::builder(SCOPE)
            .with_version(options.version.clone())
            .with_schema_url(CONVENTIONS)
            .build();
        let meter: Meter = measurements.meter_with_scope(scope.clone());
        let shared = Shared {
            tracer: spans.tracer_with_scope(scope),
            metrics: Metrics::new(&meter),
            clock,
            captures_content: options.captures_content,
        };
        Ok(Telemetry { shared: Arc::new(shared), spans, measurements })
    }

    /// Sends what has not been sent yet, for no longer than `limit`; what is left then is dropped. Says
    /// whether everything went out.
    pub async fn finish(&self, limit: Duration) -> bool {
        let (spans, measurements) = (self.spans.clone(), self.measurements.clone());
        let (sender, done) = oneshot::channel();
        // Not a task: the end of the asynchronous runtime would wait for it, and it may take longer than the
        // limit.
        let sending = std::thread::Builder::new().name("telemetry-end".to_owned()).spawn(move || {
            let sent = [spans.shutdown_with_timeout(limit), measurements.shutdown_with_timeout(limit)];
            let _ = sender.send(sent.iter().all(Result::is_ok));
        });
        match sending {
            Ok(_) => matches!(tokio::time::timeout(limit, done).await, Ok(Ok(true))),
            Err(_) => false,
        }
    }
}
