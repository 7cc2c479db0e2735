//! What Prometheus collects: requests, runs, tokens and money.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stave_listen::{Histogram, head, line};
use stave_runtime::RunReport;

use crate::access::Principal;

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// Every series of a label is kept for good, so labels come from closed sets: paths as templates, flows as
/// the catalog names them. Two tenants may have flows of the same name, and neither learns of the other's.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Series>);

#[derive(Debug, Default)]
struct Series {
    requests: BTreeMap<(&'static str, String, u16), u64>,
    request_seconds: BTreeMap<&'static str, Histogram>,
    flows: BTreeMap<Flow, FlowSeries>,
    rejected: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Flow {
    tenant: String,
    name: String,
}

#[derive(Debug)]
struct FlowSeries {
    runs: BTreeMap<&'static str, u64>,
    run_seconds: Histogram,
    tokens: BTreeMap<&'static str, u64>,
    /// Absent until something has a price.
    cost_micros: Option<u64>,
}

/// No durations so far.
fn durations() -> Histogram {
    Histogram::new(&BUCKETS)
}

impl Metrics {
    pub(crate) fn request(&self, route: &'static str, method: &str, status: u16, took: Duration) {
        let mut series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Methods are the client's words; those that nobody serves share a name.
        let method = if matches!(method, "GET" | "HEAD" | "POST" | "PUT") { method } else { "other" };
        *series.requests.entry((route, method.to_owned(), status)).or_default() += 1;
        series.request_seconds.entry(route).or_insert_with(durations).observe(took.as_secs_f64());
    }

    pub(crate) fn run(&self, tenant: &str, flow: &str, status: &'static str, report: &RunReport) {
        let mut series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let flow = Flow { tenant: tenant.to_owned(), name: flow.to_owned() };
        let series = series.flows.entry(flow).or_insert_with(FlowSeries::new);
        *series.runs.entry(status).or_default() += 1;
        series.run_seconds.observe(report.duration.as_secs_f64());
        let usage = report.usage();
        let kinds = [
            ("input", usage.input),
            ("output", usage.output),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
        ];
        for (kind, count) in kinds {
            *series.tokens.entry(kind).or_default() += count;
        }
        if let Some(cost) = report.cost() {
            *series.cost_micros.get_or_insert_default() += cost.micros();
        }
    }

    /// Counts a run that was not started because there were too many.
    pub(crate) fn rejected(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rejected += 1;
    }

    /// The text of the server's series and of those of the flows that a principal sees; `in_progress` counts the
    /// runs in progress.
    pub(crate) fn text(&self, principal: &Principal, in_progress: usize) -> String {
        let series = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let flows: Vec<_> =
            series.flows.iter().filter(|(flow, _)| principal.sees(&flow.tenant, &flow.name)).collect();
        let mut text = String::new();
        let out = &mut text;
        head(out, "stave_requests_total", "counter", "Requests by path, method and status.");
        for ((route, method, status), count) in &series.requests {
            line(
                out,
                "stave_requests_total",
                &[("path", route), ("method", method), ("status", &status.to_string())],
                count,
            );
        }
        head(out, "stave_request_seconds", "histogram", "How long requests took.");
        for (route, histogram) in &series.request_seconds {
            histogram.write(out, "stave_request_seconds", &[("path", route)]);
        }
        head(out, "stave_runs_total", "counter", "Runs that ended or wait for a person.");
        for (flow, series) in &flows {
            for (status, count) in &series.runs {
                line(out, "stave_runs_total", &flow.labels(&[("status", status)]), count);
            }
        }
        head(out, "stave_run_seconds", "histogram", "How long runs took.");
        for (flow, series) in &flows {
            series.run_seconds.write(out, "stave_run_seconds", &flow.labels(&[]));
        }
        head(out, "stave_tokens_total", "counter", "Tokens of model calls.");
        for (flow, series) in &flows {
            for (kind, count) in &series.tokens {
                line(out, "stave_tokens_total", &flow.labels(&[("kind", kind)]), count);
            }
        }
        head(
            out,
            "stave_cost_micros_total",
            "counter",
            "Millionths of a currency unit that model calls cost.",
        );
        for (flow, series) in &flows {
            if let Some(micros) = series.cost_micros {
                line(out, "stave_cost_micros_total", &flow.labels(&[]), micros);
            }
        }
        head(out, "stave_runs_in_progress", "gauge", "Runs in progress.");
        line(out, "stave_runs_in_progress", &[], in_progress);
        head(
            out,
            "stave_runs_rejected_total",
            "counter",
            "Runs that were not started because there were too many.",
        );
        line(out, "stave_runs_rejected_total", &[], series.rejected);
        text
    }
}

impl FlowSeries {
    fn new() -> FlowSeries {
        FlowSeries {
            runs: BTreeMap::new(),
            run_seconds: durations(),
            tokens: BTreeMap::new(),
            cost_micros: None,
        }
    }
}

impl Flow {
    /// The flow's own labels, and further ones.
    fn labels<'l>(&'l self, further: &[(&'l str, &'l str)]) -> Vec<(&'l str, &'l str)> {
        [&[("tenant", self.tenant.as_str()), ("flow", self.name.as_str())], further].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_in_the_form_that_is_collected() {
        let metrics = Metrics::default();
        metrics.request("/v2", "GET", 200, Duration::from_millis(7));
        metrics.request("/v2", "BREW", 405, Duration::from_secs(100));
        let text = metrics.text(&Principal::anyone(), 3);
        assert!(
            text.contains("stave_requests_total{path=\"/v2\",method=\"GET\",status=\"200\"} 1\n"),
            "{text}"
        );
        assert!(text.contains("method=\"other\",status=\"405\"} 1\n"), "{text}");
        assert!(text.contains("stave_request_seconds_bucket{path=\"/v2\",le=\"0.005\"} 0\n"), "{text}");
        assert!(text.contains("stave_request_seconds_bucket{path=\"/v2\",le=\"0.01\"} 1\n"), "{text}");
        assert!(text.contains("stave_request_seconds_bucket{path=\"/v2\",le=\"+Inf\"} 2\n"), "{text}");
        assert!(text.contains("stave_runs_in_progress 3\n"), "{text}");
    }
}
