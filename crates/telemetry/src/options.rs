//! Where traces and metrics go.

/// What the project and the environment decided. Sampling, headers, time limits, queue sizes, intervals and
/// further attributes of the resource are read by the SDK itself from the variables that its standard names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelemetryOptions {
    /// Where traces are sent, path included; none are made when absent.
    pub traces: Option<String>,
    /// Where metrics are sent, path included; none are kept when absent.
    pub metrics: Option<String>,
    pub service: String,
    /// The version of the program.
    pub version: String,
    /// Whether prompts, answers, arguments and the words of failures are part of spans.
    pub captures_content: bool,
}

impl TelemetryOptions {
    /// The address of a signal below a collector's base address.
    #[must_use]
    pub fn below(base: &str, signal: &str) -> String {
        format!("{}/v1/{signal}", base.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_its_path_below_the_base() {
        for base in ["http://collector:4318", "http://collector:4318/"] {
            assert_eq!(TelemetryOptions::below(base, "traces"), "http://collector:4318/v1/traces");
        }
        assert_eq!(TelemetryOptions::below("https://c/otlp/", "metrics"), "https://c/otlp/v1/metrics");
    }
}
