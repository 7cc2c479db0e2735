//! `[telemetry]`: where traces and metrics of runs go.

use super::read::{Reader, Table};

/// What a project sets about telemetry. The environment's `OTEL_*` variables stand over it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TelemetrySettings {
    /// The collector's base address; without it, and without one in the environment, nothing is sent.
    pub(crate) endpoint: Option<String>,
    pub(crate) service: Option<String>,
    /// Whether prompts, answers and arguments are part of traces.
    pub(crate) content: Option<bool>,
}

impl Reader<'_> {
    pub(super) fn telemetry(&mut self, root: &Table<'_>) -> TelemetrySettings {
        let Some(telemetry) = self.table(root, "telemetry") else { return TelemetrySettings::default() };
        self.known(telemetry, "telemetry.", &["endpoint", "service", "content"]);
        let endpoint = self.text(telemetry, "endpoint");
        let is_address = |text: &str| {
            url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        };
        if endpoint.as_deref().is_some_and(|text| !is_address(text)) {
            self.bad_value(
                telemetry,
                "endpoint",
                "an http or https address, such as \"http://localhost:4318\"",
            );
        }
        TelemetrySettings {
            endpoint: endpoint.filter(|text| is_address(text)),
            service: self.text(telemetry, "service"),
            content: self.flag(telemetry, "content"),
        }
    }
}
