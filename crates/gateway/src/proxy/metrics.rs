//! What Prometheus collects: requests, tokens, money, upstreams.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use stave_listen::{Histogram, head, line};

use super::gateway::Core;
use super::interface::Endpoint;
use crate::records::RequestRecord;

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 300.0];

/// Labels come from closed sets: paths as templates, upstreams as the configuration names them.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    in_progress: AtomicUsize,
    series: Mutex<Series>,
}

#[derive(Debug, Default)]
struct Series {
    requests: BTreeMap<(&'static str, u16, &'static str), u64>,
    pages: BTreeMap<(&'static str, u16), u64>,
    seconds: BTreeMap<&'static str, Histogram>,
    own_seconds: BTreeMap<&'static str, Histogram>,
    tokens: BTreeMap<&'static str, u64>,
    attempts: BTreeMap<String, BTreeMap<&'static str, u64>>,
    decisions: BTreeMap<(String, String), u64>,
    failed_open: u64,
    cost_micros: u64,
    saved_micros: i64,
}

/// No durations so far.
fn durations() -> Histogram {
    Histogram::new(&BUCKETS)
}

impl Metrics {
    pub(crate) fn begun(&self) {
        self.in_progress.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn in_progress(&self) -> usize {
        self.in_progress.load(Ordering::Relaxed)
    }

    /// Counts a request that is over.
    pub(crate) fn ended(&self, endpoint: Endpoint, record: &RequestRecord) {
        self.in_progress.fetch_sub(1, Ordering::Relaxed);
        let path = endpoint.path();
        let mut series = self.lock();
        *series.requests.entry((path, record.status, record.outcome.word())).or_default() += 1;
        series.seconds.entry(path).or_insert_with(durations).observe(record.durations.total.as_secs_f64());
        series.own_seconds.entry(path).or_insert_with(durations).observe(record.durations.own.as_secs_f64());
        let usage = record.usage;
        let kinds = [
            ("input", usage.input),
            ("output", usage.output),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
        ];
        for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
            *series.tokens.entry(kind).or_default() += count;
        }
        for decision in &record.gates {
            let key = (decision.action.to_string(), decision.rule.to_string());
            *series.decisions.entry(key).or_default() += u64::from(decision.places);
        }
        series.failed_open += u64::from(record.failed_open.is_some());
        if let (Some(spent), Some(as_sent)) = (record.money.spent, record.money.as_sent) {
            series.cost_micros += spent.micros();
            series.saved_micros += as_sent.micros() as i64 - spent.micros() as i64;
        }
    }

    /// Counts one time that an upstream was asked.
    pub(crate) fn attempt(&self, upstream: &str, outcome: &'static str) {
        let mut series = self.lock();
        if !series.attempts.contains_key(upstream) {
            series.attempts.insert(upstream.to_owned(), BTreeMap::new());
        }
        if let Some(outcomes) = series.attempts.get_mut(upstream) {
            *outcomes.entry(outcome).or_default() += 1;
        }
    }

    /// Counts a request that no model was asked for.
    pub(crate) fn page(&self, path: &'static str, status: u16) {
        *self.lock().pages.entry((path, status)).or_default() += 1;
    }

    pub(crate) fn text(&self, core: &Core) -> String {
        let setup = core.setup();
        let series = self.lock();
        let mut text = String::new();
        let out = &mut text;
        head(out, "stave_gateway_requests_total", "counter", "Requests for models by path and end.");
        for ((path, status, outcome), count) in &series.requests {
            let status = status.to_string();
            let labels = [("path", *path), ("status", &status), ("outcome", outcome)];
            line(out, "stave_gateway_requests_total", &labels, count);
        }
        head(out, "stave_gateway_pages_total", "counter", "Requests that the gateway answered by itself.");
        for ((path, status), count) in &series.pages {
            let status = status.to_string();
            line(out, "stave_gateway_pages_total", &[("path", path), ("status", &status)], count);
        }
        head(out, "stave_gateway_request_seconds", "histogram", "How long requests took.");
        for (path, histogram) in &series.seconds {
            histogram.write(out, "stave_gateway_request_seconds", &[("path", path)]);
        }
        head(out, "stave_gateway_own_seconds", "histogram", "What the gateway's own work took.");
        for (path, histogram) in &series.own_seconds {
            histogram.write(out, "stave_gateway_own_seconds", &[("path", path)]);
        }
        head(out, "stave_gateway_tokens_total", "counter", "Tokens that upstreams counted.");
        for (kind, count) in &series.tokens {
            line(out, "stave_gateway_tokens_total", &[("kind", kind)], count);
        }
        head(out, "stave_gateway_cost_micros_total", "counter", "Millionths of a dollar that were spent.");
        line(out, "stave_gateway_cost_micros_total", &[], series.cost_micros);
        head(out, "stave_gateway_saved_micros", "gauge", "Millionths of a dollar that planning saved.");
        line(out, "stave_gateway_saved_micros", &[], series.saved_micros);
        head(out, "stave_gateway_attempts_total", "counter", "How often upstreams were asked, by what came.");
        for (upstream, outcomes) in &series.attempts {
            for (outcome, count) in outcomes {
                let labels = [("upstream", upstream.as_str()), ("outcome", *outcome)];
                line(out, "stave_gateway_attempts_total", &labels, count);
            }
        }
        head(out, "stave_gateway_decisions_total", "counter", "What gates and policies decided.");
        for ((action, rule), count) in &series.decisions {
            line(out, "stave_gateway_decisions_total", &[("action", action), ("rule", rule)], count);
        }
        head(
            out,
            "stave_gateway_failed_open_total",
            "counter",
            "Requests sent as they came, because a part of ours failed.",
        );
        line(out, "stave_gateway_failed_open_total", &[], series.failed_open);
        drop(series);
        head(out, "stave_gateway_requests_in_progress", "gauge", "Requests that are not over.");
        line(out, "stave_gateway_requests_in_progress", &[], self.in_progress());
        head(out, "stave_gateway_requests_waiting", "gauge", "Requests that wait for their turn.");
        line(out, "stave_gateway_requests_waiting", &[], setup.queue.waiting());
        head(
            out,
            "stave_gateway_upstream_open",
            "gauge",
            "1 for an upstream that is not asked because it failed.",
        );
        let now = core.clock.elapsed();
        for upstream in &setup.upstreams {
            let name = ("upstream", upstream.config.name.as_str());
            line(out, "stave_gateway_upstream_open", &[name], u8::from(upstream.breakers.is_open(now)));
        }
        head(out, "stave_gateway_idle_connections", "gauge", "Connections that are kept for later requests.");
        for upstream in &setup.upstreams {
            let name = ("upstream", upstream.config.name.as_str());
            line(out, "stave_gateway_idle_connections", &[name], upstream.idle_connections());
        }
        let counts = core.sink.counts();
        head(out, "stave_gateway_records_waiting", "gauge", "Records that are not in the file yet.");
        line(out, "stave_gateway_records_waiting", &[], counts.waiting);
        head(out, "stave_gateway_records_written_total", "counter", "Records that are in the file.");
        line(out, "stave_gateway_records_written_total", &[], counts.written);
        text
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Series> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
