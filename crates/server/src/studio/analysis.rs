//! Everything about a text at once: what is wrong with it, and the graph that it is.

use stave_flow::CheckOptions;
use stave_flow::graph::connected;
use stave_flow::model::{Flow, Text};
use stave_flow::service;

use super::Studio;
use super::findings::{findings, summary};
use super::graph::{FlowGraph, request};
use super::places::Places;
use super::request::TextCall;
use crate::api::graph_types::RequestField;
use crate::api::text_types::{Analysis, FlowMetadata, Subject};
use crate::handlers::Call;
use crate::problem::Problem;

pub(super) async fn analyse(call: Call<'_>, studio: &Studio) -> Result<Analysis, Problem> {
    let call = TextCall::<Subject>::read(call, studio).await?;
    call.work(studio, |call, options, _| analysis(&call.text, &options)).await
}

/// The analysis of a text.
pub(super) fn analysis(text: &str, options: &CheckOptions) -> Analysis {
    let read = stave_flow::load(stave_diag::SourceId(0), text, options);
    let places = Places::new(text);
    let flow = read.flow.as_ref();
    let hash = read.tree.as_ref().filter(|_| flow.is_some());
    let hash = hash.and_then(|tree| stave_flow::semantic_hash(tree).ok());
    Analysis {
        text_hash: stave_canon::prefixed_sha256(text),
        hash: hash.into(),
        summary: summary(&read.diagnostics),
        diagnostics: findings(&read.diagnostics, flow, &places),
        flow: flow.map(about).into(),
        graph: flow.map(|flow| FlowGraph::new(flow, &read.diagnostics, &places).drawn()).into(),
        request: flow.map(form).unwrap_or_default(),
    }
}

/// A text with what an editor asks about it.
pub(super) fn service(text: String, options: &CheckOptions) -> service::Analysis {
    service::Analysis::new(text, options)
}

fn about(flow: &Flow) -> FlowMetadata {
    let metadata = &flow.metadata;
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.as_str().to_owned()).into();
    let version = flow.version.as_ref().map(|version| format!("{}.{}", version.major, version.minor));
    FlowMetadata {
        name: text(&metadata.name),
        description: text(&metadata.description),
        tags: metadata.tags.iter().map(|tag| tag.as_str().to_owned()).collect(),
        version: version.into(),
    }
}

/// The fields of a form that starts a run.
fn form(flow: &Flow) -> Vec<RequestField> {
    let fields = request(flow, &connected(flow)).into_iter().map(|field| RequestField {
        name: field.name.to_owned(),
        required: field.required,
        port_type: field.port_type.into(),
        schema: field.schema.unwrap_or_default(),
        description: field.description.map(str::to_owned).into(),
        sensitivity: field.sensitivity.into(),
    });
    fields.collect()
}
