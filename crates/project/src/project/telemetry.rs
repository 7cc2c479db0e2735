//! `[telemetry]`: where traces and metrics of runs go.

use stave_shape::{Pattern, Shape};

/// Where traces and metrics of runs go. The environment's `OTEL_*` variables override it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Shape)]
#[shape(not_null, name = "Telemetry")]
pub struct TelemetrySettings {
    /// The collector's base address; without it, and without one in the environment, nothing is sent.
    #[shape(pattern = ADDRESS)]
    pub endpoint: Option<String>,
    /// The name under which the service appears in traces.
    pub service: Option<String>,
    /// Whether prompts, answers and arguments are part of traces.
    #[shape(unset = false)]
    pub content: Option<bool>,
}

const ADDRESS: Pattern = Pattern {
    name: "an http or https address, such as \"http://localhost:4318\"",
    expression: "^[hH][tT][tT][pP][sS]?://.+",
    fits: |text| {
        url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
    },
};
