//! Prompt to exec: a document with one model step, so that a prompt by itself takes the same path as every other one.

use stave_canon::{Object, Value};
use stave_exec::dataflow::{EdgeData, NodeData, PortType, StepPort};
use stave_exec::spacing::{self, RetrySpacing};
use stave_exec::{
    Constants, Document, DocumentEdge, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, On, Retry,
    VERSION,
};
use stave_flow::model::{DEFAULT_RETRIES, DEFAULT_RETRY_BACKOFF_MS, INPUT, OUTPUT};
use stave_operations::{IO_FORMAT_RESPONSE, LLM_CHAT};
use stave_prompt::{PromptIr, to_dict};

use crate::flow_to_exec::{DefaultModel, ExecSettings, bounded, model_value, pseudo_node};

/// The name of the documents that prompts become.
const PROMPT_DOCUMENT: &str = "prompt";

/// The step that asks, and the field of the document's output with the answer.
pub const ASK: &str = "ask";
pub const ANSWER: &str = "answer";

/// The document that asks a model this prompt. Its output is an object with the answer, which may be any JSON value.
#[must_use]
pub fn prompt_to_exec(ir: &PromptIr, model: &DefaultModel, settings: &ExecSettings) -> Document {
    let reply = Value::from_iter([(ANSWER, "${prompt_output}")]);
    let transform = Value::from_iter([
        ("type", Value::from(IO_FORMAT_RESPONSE.name)),
        ("with", Value::from_iter([("template", reply)])),
    ]);
    let with = Object::from_iter([
        ("ir".to_owned(), to_dict(ir)),
        ("model".to_owned(), model_value(&model.provider, &model.name, model.endpoint.as_deref())),
        ("templates".to_owned(), settings.templates.to_value()),
        ("transform".to_owned(), transform),
    ]);
    let output = StepPort {
        name: ANSWER.to_owned(),
        port_type: PortType::Object,
        schema: None,
        optional: false,
        provenance: None,
    };
    let mut extra = NodeData { outputs: vec![output], ..NodeData::default() }.write();
    spacing::write(RetrySpacing::ExponentialJitter, &mut extra);
    let ask = DocumentNode {
        id: ASK.to_owned(),
        kind: LLM_CHAT.name.to_owned(),
        with,
        timeout_ms: 0,
        retry: Retry { max: bounded(DEFAULT_RETRIES), backoff_ms: bounded(DEFAULT_RETRY_BACKOFF_MS) },
        extra,
    };
    let whole = EdgeData { from_port: Some(ANSWER.to_owned()), ..EdgeData::default() };
    let edge =
        DocumentEdge { from: ASK.to_owned(), to: OUTPUT.to_owned(), on: On::Success, extra: whole.write() };
    Document {
        version: VERSION.to_owned(),
        flow: FlowHeader { name: PROMPT_DOCUMENT.to_owned(), timeout_ms: 0 },
        constants: Constants { policy_ref: settings.policy_ref.clone(), policy: settings.policy.clone() },
        inputs_schema: Object::new(),
        graph: DocumentGraph {
            nodes: vec![pseudo_node(INPUT, "flow.input"), ask, pseudo_node(OUTPUT, "flow.output")],
            edges: vec![edge],
        },
        metadata: DocumentMetadata {
            generated_at: settings.generated_at.clone(),
            source_file: settings.source_file.clone(),
            extra: Object::new(),
        },
        extra: Object::new(),
    }
}
