//! Tracing in a program that was built without it: where it is wanted, one warning says that nothing is traced.

use std::sync::Arc;
use std::time::Duration;

use stave_gateway::trace::RequestTracer;
use stave_runtime::trace::Tracer;

use crate::exit::Stop;
use crate::project::Project;
use crate::warnings;

/// The addresses that ask for traces or metrics.
const ADDRESSES: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/// Does nothing.
#[derive(Debug, Clone, Default)]
pub struct Tracing(());

impl Tracing {
    pub fn of(project: &Project) -> Tracing {
        let (tracing, trouble) = Tracing::quietly_of(project);
        if let Some(trouble) = trouble {
            warnings::warn_once(&format!("nothing is traced: {trouble}"));
        }
        tracing
    }

    pub fn quietly_of(project: &Project) -> (Tracing, Option<String>) {
        let is_set = |name: &&str| std::env::var(name).is_ok_and(|value| !value.trim().is_empty());
        let is_wanted = project.settings.telemetry.endpoint.is_some() || ADDRESSES.iter().any(is_set);
        let trouble = is_wanted.then(|| Stop::without_feature("telemetry", "OpenTelemetry").to_string());
        (Tracing::default(), trouble)
    }

    pub fn tracer(&self) -> Arc<dyn Tracer> {
        Arc::new(())
    }

    pub fn requests(&self) -> Option<Arc<dyn RequestTracer>> {
        None
    }

    pub async fn finish(&self) {}

    pub async fn finish_within(&self, _: Duration) {}
}
