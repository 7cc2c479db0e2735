//! A collector on this machine that keeps what it is sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::scripted::{Call, Reply, Server, serve};

#[derive(Debug, Default)]
pub(super) struct Collector {
    calls: Mutex<Vec<Call>>,
}

/// A span as it arrived, its attributes as texts by name.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) kind: i32,
    /// The status code and its words.
    pub(super) status: (i32, String),
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) events: Vec<String>,
}

impl Collector {
    /// Starts it on a free port.
    pub(super) async fn start() -> (Arc<Collector>, Server) {
        let collector = Arc::new(Collector::default());
        let kept = Arc::clone(&collector);
        let server = serve(move |call| {
            let kept = Arc::clone(&kept);
            async move {
                kept.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
                Reply::text(200, "application/x-protobuf", "")
            }
        })
        .await;
        (collector, server)
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Everything that arrived, as bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.calls().iter().flat_map(|call| call.body.to_vec()).collect()
    }

    pub(super) fn spans(&self) -> Vec<Seen> {
        let calls = self.calls();
        let requests = calls.iter().filter(|call| call.address.path() == "/v1/traces").map(|call| {
            ExportTraceServiceRequest::decode(call.body.clone()).expect("traces are what the protocol says")
        });
        let scopes = requests.flat_map(|request| request.resource_spans).flat_map(|one| one.scope_spans);
        scopes.flat_map(|scope| scope.spans).map(seen).collect()
    }

    /// The attributes of the resource that traces come from.
    pub(super) fn resource(&self) -> BTreeMap<String, String> {
        let calls = self.calls();
        let call = calls.iter().find(|call| call.address.path() == "/v1/traces").expect("there are traces");
        let request = ExportTraceServiceRequest::decode(call.body.clone()).expect("traces can be read");
        let resource = request.resource_spans.into_iter().find_map(|one| one.resource);
        attributes(resource.expect("traces have a resource").attributes)
    }

    /// The points of histograms: the metric's name, the attributes, the count and the sum.
    pub(super) fn points(&self) -> Vec<(String, BTreeMap<String, String>, u64, f64)> {
        let calls = self.calls();
        let requests = calls.iter().filter(|call| call.address.path() == "/v1/metrics").map(|call| {
            ExportMetricsServiceRequest::decode(call.body.clone())
                .expect("metrics are what the protocol says")
        });
        let scopes = requests.flat_map(|request| request.resource_metrics).flat_map(|one| one.scope_metrics);
        let mut points = Vec::new();
        for metric in scopes.flat_map(|scope| scope.metrics) {
            if let Some(Data::Histogram(histogram)) = metric.data {
                points.extend(histogram.data_points.into_iter().map(|point| {
                    let sum = point.sum.unwrap_or_default();
                    (metric.name.clone(), attributes(point.attributes), point.count, sum)
                }));
            }
        }
        points
    }
}

fn seen(span: Span) -> Seen {
    let status = span.status.unwrap_or_default();
    Seen {
        name: span.name,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        kind: span.kind,
        status: (status.code, status.message),
        attributes: attributes(span.attributes),
        events: span.events.into_iter().map(|event| event.name).collect(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn attributes(pairs: Vec<KeyValue>) -> BTreeMap<String, String> {
    pairs.into_iter().map(|pair| (pair.key, text(pair.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::BoolValue(flag)) => flag.to_string(),
        Some(Any::IntValue(number)) => number.to_string(),
        Some(Any::DoubleValue(number)) => number.to_string(),
        Some(Any::ArrayValue(list)) => {
            let items: Vec<String> = list.values.into_iter().map(|item| text(Some(item))).collect();
            items.join(",")
        }
        _ => String::new(),
    }
}
