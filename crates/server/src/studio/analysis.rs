//! Everything about a text at once: what is wrong with it, and the graph that it is.

use stave_canon::Value;
use stave_flow::CheckOptions;
use stave_flow::graph::connected;
use stave_flow::model::{Flow, Sensitivity, Text};
use stave_flow::service::Analysis;

use super::findings::{findings, summary};
use super::graph::{Graph, request};
use super::places::Places;
use super::request::TextCall;
use super::{Studio, object};
use crate::handlers::Call;
use crate::problem::Problem;

pub(super) async fn analyse(call: Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    let call = TextCall::read(call, studio).await?;
    call.work(studio, |call, options, _| analysis(&call.text, &options)).await
}

/// The analysis of a text.
pub(super) fn analysis(text: &str, options: &CheckOptions) -> Value {
    let read = stave_flow::load(stave_diag::SourceId(0), text, options);
    let places = Places::new(text);
    let flow = read.flow.as_ref();
    let hash = read.tree.as_ref().filter(|_| flow.is_some());
    let hash = hash.and_then(|tree| stave_flow::semantic_hash(tree).ok());
    object([
        ("text_hash", stave_canon::prefixed_sha256(text).into()),
        ("hash", hash.into()),
        ("summary", summary(&read.diagnostics)),
        ("diagnostics", findings(&read.diagnostics, flow, &places)),
        ("flow", flow.map(about).unwrap_or_default()),
        (
            "graph",
            flow.map(|flow| Graph::new(flow, &read.diagnostics, &places).to_value()).unwrap_or_default(),
        ),
        ("request", flow.map_or_else(|| Value::Array(Vec::new()), form)),
    ])
}

/// A text with what an editor asks about it.
pub(super) fn service(text: String, options: &CheckOptions) -> Analysis {
    Analysis::new(text, options)
}

fn about(flow: &Flow) -> Value {
    let metadata = &flow.metadata;
    let text = |text: &Option<Text>| Value::from(text.as_ref().map(Text::as_str));
    let tags: Vec<&str> = metadata.tags.iter().map(Text::as_str).collect();
    let version = flow.version.as_ref().map(|version| format!("{}.{}", version.major, version.minor));
    object([
        ("name", text(&metadata.name)),
        ("description", text(&metadata.description)),
        ("tags", tags.into()),
        ("version", version.into()),
    ])
}

/// What a form asks for to start a run.
fn form(flow: &Flow) -> Value {
    let edges = connected(flow);
    let fields = request(flow, &edges).into_iter().map(|field| {
        object([
            ("name", field.name.into()),
            ("required", field.required.into()),
            ("type", field.port_type.into()),
            ("schema", field.schema.unwrap_or_default()),
            ("description", field.description.into()),
            ("sensitivity", field.sensitivity.map(Sensitivity::word).into()),
        ])
    });
    Value::Array(fields.collect())
}
