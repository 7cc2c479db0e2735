//! The tracers and meters of the runs and requests of this process, as the project and the environment want it.
//!
//! Invariant: nothing is sent unless an address was set, and no run fails or waits because of it.

use std::sync::Arc;
use std::time::Duration;

use stave_gateway::trace::RequestTracer;
use stave_runtime::trace::Tracer;
use stave_telemetry::{Telemetry, TelemetryOptions};
use tokio::runtime::Handle;

use crate::ports::SystemClock;
use crate::project::{Project, TelemetrySettings};
use crate::warnings;

/// The name that runs are seen under when nobody gave one.
const SERVICE: &str = "stave";
/// How long the end of the process may wait for the collector.
const LAST_SENDING: Duration = Duration::from_secs(3);

/// Traces, or does nothing.
#[derive(Debug, Clone, Default)]
pub struct Tracing(Option<Arc<Telemetry>>);

impl Tracing {
    /// Starts inside the asynchronous runtime. A part that cannot be set up is reported once and skipped.
    pub fn of(project: &Project) -> Tracing {
        let (tracing, trouble) = Tracing::quietly_of(project);
        if let Some(trouble) = trouble {
            warnings::warn_once(&format!("nothing is traced: {trouble}"));
        }
        tracing
    }

    /// The same, and returns the message to print, if any.
    pub fn quietly_of(project: &Project) -> (Tracing, Option<String>) {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let options = match options(&project.settings.telemetry, variable) {
            Ok(Some(options)) => options,
            Ok(None) => return (Tracing::default(), None),
            Err(trouble) => return (Tracing::default(), Some(trouble)),
        };
        match Telemetry::start(&options, Arc::new(SystemClock), Handle::current()) {
            Ok(telemetry) => (Tracing(Some(Arc::new(telemetry))), None),
            Err(error) => (Tracing::default(), Some(error.to_string())),
        }
    }

    pub fn tracer(&self) -> Arc<dyn Tracer> {
        match &self.0 {
            Some(telemetry) => Arc::clone(telemetry) as Arc<dyn Tracer>,
            None => Arc::new(()),
        }
    }

    /// The tracer of the gateway's requests.
    pub fn requests(&self) -> Option<Arc<dyn RequestTracer>> {
        self.0.as_ref().map(|telemetry| Arc::clone(telemetry) as Arc<dyn RequestTracer>)
    }

    /// Sends what is left, within a bound.
    pub async fn finish(&self) {
        self.finish_within(LAST_SENDING).await;
    }

    pub async fn finish_within(&self, limit: Duration) {
        if let Some(telemetry) = &self.0 {
            telemetry.finish(limit).await;
        }
    }
}

/// What is sent where; `None` when nothing is.
fn options(
    settings: &TelemetrySettings,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<TelemetryOptions>, String> {
    let is_true = |value: &str| value.trim().eq_ignore_ascii_case("true");
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| is_true(&value)) {
        return Ok(None);
    }
    let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| settings.endpoint.clone());
    let address = |signal: &str| {
        let upper = signal.to_ascii_uppercase();
        if variable(&format!("OTEL_{upper}_EXPORTER")).is_some_and(|name| name.trim() == "none") {
            return None;
        }
        let own = variable(&format!("OTEL_EXPORTER_OTLP_{upper}_ENDPOINT"));
        own.or_else(|| base.as_deref().map(|base| TelemetryOptions::below(base, signal)))
    };
    let (traces, metrics) = (address("traces"), address("metrics"));
    if traces.is_none() && metrics.is_none() {
        return Ok(None);
    }
    for name in ["PROTOCOL", "TRACES_PROTOCOL", "METRICS_PROTOCOL"] {
        let name = format!("OTEL_EXPORTER_OTLP_{name}");
        if let Some(protocol) = variable(&name).filter(|protocol| protocol.trim() != "http/protobuf") {
            return Err(format!("{name} is {protocol:?}, and only \"http/protobuf\" is spoken"));
        }
    }
    let captured = variable("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").map(|value| {
        let value = value.trim().to_ascii_lowercase();
        matches!(value.as_str(), "true" | "span_only" | "span_and_event")
    });
    Ok(Some(TelemetryOptions {
        traces,
        metrics,
        service: variable("OTEL_SERVICE_NAME")
            .or_else(|| settings.service.clone())
            .unwrap_or_else(|| SERVICE.to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        captures_content: captured.or(settings.content).unwrap_or(false),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        settings: &TelemetrySettings,
        variables: &[(&str, &str)],
    ) -> Result<Option<TelemetryOptions>, String> {
        options(settings, |name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318");

    #[test]
    fn nothing_is_sent_unless_an_address_is_set() {
        let none = TelemetrySettings::default();
        assert_eq!(of(&none, &[]), Ok(None));
        assert_eq!(of(&none, &[("OTEL_SERVICE_NAME", "s")]), Ok(None));
        assert_eq!(of(&none, &[BASE, ("OTEL_SDK_DISABLED", "TRUE")]), Ok(None));
        let both_off = [BASE, ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")];
        assert_eq!(of(&none, &both_off), Ok(None));
    }

    #[test]
    fn the_environment_stands_over_the_project() {
        let settings = TelemetrySettings {
            endpoint: Some("http://p:1".to_owned()),
            service: Some("project".to_owned()),
            content: Some(true),
        };
        let options = of(&settings, &[]).unwrap().unwrap();
        assert_eq!(options.traces.as_deref(), Some("http://p:1/v1/traces"));
        assert_eq!((options.service.as_str(), options.captures_content), ("project", true));
        let variables = [
            BASE,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/here"),
            ("OTEL_SERVICE_NAME", "named"),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "false"),
        ];
        let options = of(&settings, &variables).unwrap().unwrap();
        assert_eq!(options.traces.as_deref(), Some("http://t/here"));
        assert_eq!(options.metrics.as_deref(), Some("http://c:4318/v1/metrics"));
        assert_eq!((options.service.as_str(), options.captures_content), ("named", false));
    }

    #[test]
    fn a_protocol_that_is_not_spoken_is_told() {
        let told = of(&TelemetrySettings::default(), &[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert!(told.unwrap_err().contains("http/protobuf"));
    }
}
