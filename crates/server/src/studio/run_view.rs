//! A run as the studio shows it: every node with what came in and went out, every edge with what it carried,
//! and for all of it the line of the flow that it came from.

use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_exec::dataflow::{EdgeData, NodeData, Origin};
use stave_exec::{Document, DocumentEdge};
use stave_runtime::journal::{Question, RunStatus, StoredRun, questions};
use stave_runtime::{Cost, NodeReport, Signal, Status};

use super::request::{TEXT_TIME, is_seen};
use super::{Studio, object};
use crate::handlers::Call;
use crate::handlers::runs::find_shown;
use crate::problem::Problem;

/// The longest value that a whole run shows; a node on its own shows all of it.
const VALUE_BYTES: usize = 16 * 1024;

/// The longest request and output that it shows; the run API shows all of them.
const WHOLE_BYTES: usize = 64 * 1024;

/// The status of a node that waits for a person.
const ASKS: &str = "asks";

/// The extra property of a document's metadata with the hash of the flow's text.
const SOURCE_HASH: &str = "source_sha256";

pub(super) async fn show(call: &Call<'_>, studio: &Studio, run: &str) -> Result<Value, Problem> {
    let (_, stored) = find_shown(call, run).await?;
    let file = stored.document.metadata.source_file.clone();
    let workspace = Arc::clone(&studio.workspace);
    let read = studio.work(&call.principal, TEXT_TIME, move || {
        let path = workspace.path_of(&file)?;
        let text = workspace.read(&path).ok();
        Some((path, text))
    });
    let (path, text) = read.await?.unzip();
    // The file may be another flow's by now.
    let text = text.flatten();
    let path = path.filter(|path| {
        let project = studio.workspace.project_of(path);
        project.is_some_and(|project| {
            call.principal.may_see(&project.tenant)
                && is_seen(text.as_deref().unwrap_or_default(), &project.tenant, &call.principal)
        })
    });
    let text = text.filter(|_| path.is_some());
    let view = RunView::new(&stored);
    let hash = stored.document.metadata.extra.get(SOURCE_HASH).and_then(Value::as_str);
    let is_changed = text.as_ref().zip(hash).map(|(text, hash)| stave_canon::prefixed_sha256(text) != hash);
    let source = object([
        ("file", stored.document.metadata.source_file.as_str().into()),
        ("path", path.into()),
        ("changed", is_changed.into()),
        ("text", text.into()),
    ]);
    Ok(view.to_value(source))
}

/// What people are asked, each question with the values that it is about and the digest that a decision names.
pub(crate) fn asked(stored: &StoredRun) -> Vec<Value> {
    stored.open_questions().map(Question::to_value).collect()
}

/// A run with what its nodes were given.
pub(super) struct RunView<'r> {
    stored: &'r StoredRun,
    report: stave_runtime::RunReport,
    arrivals: Vec<Arrival<'r>>,
}

/// What an edge brought.
pub(super) struct Arrival<'r> {
    edge: &'r DocumentEdge,
    data: EdgeData,
    brought: Brought,
}

enum Brought {
    Value(Value),
    /// Why it carried nothing.
    Nothing(String),
    /// Its beginning has no result.
    NotYet,
}

impl<'r> RunView<'r> {
    pub(super) fn new(stored: &'r StoredRun) -> RunView<'r> {
        RunView { stored, report: stored.report(), arrivals: arrivals(stored) }
    }

    fn to_value(&self, source: Value) -> Value {
        let summary = &self.stored.summary;
        let report = self.report.to_value();
        let member = |key: &str| report.get(key).cloned().unwrap_or_default();
        let is_over = self.stored.ending.is_some();
        let (request, is_cut) = cut(Some(self.stored.request.clone()), WHOLE_BYTES);
        let (output, is_cut_too) = cut(Some(member("output")).filter(|_| is_over), WHOLE_BYTES);
        let nodes = self.nodes().map(|node| self.node(node, VALUE_BYTES).into());
        let decisions = self.stored.decisions.iter();
        let decisions = decisions.map(|(path, decision)| decision.to_value(&questions::address(path)));
        object([
            ("run_id", summary.id.as_str().into()),
            ("flow", summary.flow.as_str().into()),
            ("status", summary.status.word().into()),
            ("started_at", summary.started_at.to_string().into()),
            ("ended_at", summary.ended_at.map(|at| at.to_string()).into()),
            ("duration_ms", member("duration_ms")),
            ("replay_of", summary.replay_of.clone().into()),
            ("request", request),
            ("output", output),
            ("truncated", (is_cut || is_cut_too).into()),
            ("error", if is_over { member("error") } else { Value::Null }),
            ("usage", member("usage")),
            ("source", source),
            ("nodes", Value::Array(nodes.collect())),
            ("edges", Value::Array(self.arrivals.iter().map(Arrival::to_value).collect())),
            ("decisions", Value::Array(decisions.collect())),
        ])
    }

    /// The nodes of the flow, in its order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &NodeReport> {
        self.report.nodes.iter().filter(|node| !node.id.starts_with('_'))
    }

    /// One node, with values of at most so many bytes.
    pub(super) fn node(&self, node: &NodeReport, bytes: usize) -> Object {
        let step = self.stored.steps.iter().find(|step| step.node == node.id);
        let outputs = step.and_then(|step| step.result.outputs.as_ref().ok());
        let inputs = self.inputs(&node.id);
        let status = self.status(node);
        let questions: Vec<&Question> = self.questions(&node.id).collect();
        let asked = questions.first().filter(|_| status == ASKS).and_then(|question| question.text.clone());
        let reason = asked.or_else(|| node.reason.clone());
        let (inputs, is_cut) = cut(inputs.map(Value::Object), bytes);
        let (outputs, is_cut_too) = cut(outputs.cloned().map(Value::Object), bytes);
        let data =
            self.stored.document.node(&node.id).and_then(|node| NodeData::read(&node.extra).ok().flatten());
        let places = data.map(|data| data.text_origins).unwrap_or_default();
        let places = places.into_iter().map(|(key, origin)| (key, place(origin)));
        let error = node.failure.as_ref().map(|failure| {
            let mut value = failure.to_error_value(&node.id, node.attempts);
            if let (Some(members), Some(origin)) = (value.as_object_mut(), failure.origin) {
                members.insert("line".into(), origin.line.into());
                members.insert("column".into(), origin.column.into());
            }
            value
        });
        let milliseconds = |duration: std::time::Duration| duration.as_micros() as f64 / 1000.0;
        let value = object([
            ("id", node.id.as_str().into()),
            ("type", node.kind.as_str().into()),
            ("status", status.into()),
            ("attempts", node.attempts.into()),
            ("duration_ms", milliseconds(node.duration).into()),
            ("started_ms", node.started.map(milliseconds).into()),
            ("reason", reason.into()),
            ("error", error.unwrap_or_default()),
            ("model", node.model.clone().into()),
            ("usage", node.usage.as_ref().map(usage).unwrap_or_default()),
            ("cost_micros", node.cost.map(Cost::micros).into()),
            ("calls", node.calls.into()),
            ("cached", node.cached.into()),
            ("reused", node.reused.into()),
            ("degraded", node.degraded.into()),
            ("dropped_outputs", node.dropped_outputs.clone().into()),
            ("flagged", node.flagged.clone().into()),
            ("logs", node.logs.clone().into()),
            ("inputs", inputs),
            ("outputs", outputs),
            ("truncated", (is_cut || is_cut_too).into()),
            ("prompts", node.questions.len().into()),
            ("asks", Value::Array(questions.into_iter().map(Question::to_value).collect())),
            ("origin", node.origin.map(place).unwrap_or_default()),
            ("places", places.collect()),
        ]);
        value.as_object().cloned().unwrap_or_default()
    }

    /// What edges brought to a node, by port.
    pub(super) fn inputs(&self, node: &str) -> Option<Object> {
        let mut inputs = Object::new();
        for arrival in self.arrivals.iter().filter(|arrival| arrival.edge.to == node) {
            if let (Some(port), Brought::Value(value)) = (&arrival.data.to_port, &arrival.brought) {
                inputs.insert(port.clone(), value.clone());
            }
        }
        (!inputs.is_empty()).then_some(inputs)
    }

    /// What a node asks people: at the top of the flow, as a tool, or for the items of a list.
    fn questions(&self, node: &str) -> impl Iterator<Item = &Question> {
        self.stored.open_questions().filter(move |question| question.node == node)
    }

    /// Where a node stands. The journal knows results; that a node is at work follows from its edges.
    fn status(&self, node: &NodeReport) -> &'static str {
        if node.status != Status::Waiting && self.questions(&node.id).next().is_none() {
            return node.status.word();
        }
        if self.questions(&node.id).next().is_some() {
            return ASKS;
        }
        if self.stored.summary.status == RunStatus::Running && self.is_fed(&node.id) {
            return "running";
        }
        "waiting"
    }

    /// Whether everything that leads to a node has a result, and some of it brought a value.
    fn is_fed(&self, node: &str) -> bool {
        let mut into = self.arrivals.iter().filter(|arrival| arrival.edge.to == node).peekable();
        let is_root = into.peek().is_none();
        let data =
            self.stored.document.node(node).and_then(|node| NodeData::read(&node.extra).ok().flatten());
        if is_root {
            return !data.is_some_and(|data| data.tool);
        }
        into.all(|arrival| !matches!(arrival.brought, Brought::NotYet))
    }
}

impl Arrival<'_> {
    fn to_value(&self) -> Value {
        let (state, value, reason) = match &self.brought {
            Brought::Value(value) => ("carried", Some(value), None),
            Brought::Nothing(reason) => ("not_taken", None, Some(reason)),
            Brought::NotYet => ("none", None, None),
        };
        let mut members = Object::from_iter([
            ("from".to_owned(), Value::from(self.edge.from.as_str())),
            ("to".to_owned(), self.edge.to.as_str().into()),
            ("from_port".to_owned(), self.data.from_port.clone().into()),
            ("to_port".to_owned(), self.data.to_port.clone().into()),
            ("origin".to_owned(), self.data.origin.map(place).unwrap_or_default()),
            ("state".to_owned(), state.into()),
        ]);
        if let Some(value) = value {
            members.insert("value".into(), cut(Some(value.clone()), VALUE_BYTES).0);
        }
        if let Some(reason) = reason {
            members.insert("reason".into(), reason.as_str().into());
        }
        members.into()
    }
}

fn arrivals(stored: &StoredRun) -> Vec<Arrival<'_>> {
    let document: &Document = &stored.document;
    let mut signals: Vec<Option<&Signal>> = vec![None; document.graph.edges.len()];
    for (index, signal) in stored.steps.iter().flat_map(|step| &step.result.signals) {
        if let Some(slot) = signals.get_mut(*index) {
            slot.get_or_insert(signal);
        }
    }
    let edges = document.graph.edges.iter().zip(signals);
    edges
        .map(|(edge, signal)| {
            let data = EdgeData::read(&edge.extra).unwrap_or_default();
            let port = data.from_port.as_deref().unwrap_or_default();
            let brought = match signal {
                Some(Signal::Active(value)) => Brought::Value(value.clone()),
                Some(Signal::Inactive(reason)) => Brought::Nothing(reason.clone()),
                // The request is written down with the run, not as a step.
                None if edge.from == "_input" => match stored.request.get(port) {
                    Some(value) => Brought::Value(value.clone()),
                    None => Brought::Nothing(format!("the request has no `{port}`")),
                },
                None => Brought::NotYet,
            };
            Arrival { edge, data, brought }
        })
        .collect()
}

pub(super) fn place(origin: Origin) -> Value {
    Value::from_iter([("line", origin.line), ("column", origin.column)])
}

pub(super) fn usage(usage: &stave_runtime::Usage) -> Value {
    Value::from_iter([
        ("input_tokens", usage.input),
        ("output_tokens", usage.output),
        ("cache_read_tokens", usage.cache_read),
        ("cache_write_tokens", usage.cache_write),
    ])
}

/// A value of at most so many bytes, and whether it was cut. A member that is too long is replaced by the
/// beginning of its text.
fn cut(value: Option<Value>, bytes: usize) -> (Value, bool) {
    let Some(value) = value else { return (Value::Null, false) };
    let text = value.to_string();
    if text.len() <= bytes {
        return (value, false);
    }
    if let Value::Object(members) = value {
        let share = bytes / members.len().max(1);
        let members = members.into_iter().map(|(key, value)| (key, shortened(&value, share)));
        return (Value::Object(members.collect()), true);
    }
    (beginning(&text, bytes), true)
}

fn shortened(value: &Value, bytes: usize) -> Value {
    match value {
        Value::String(text) if text.len() > bytes => beginning(text, bytes),
        other => {
            let text = other.to_string();
            if text.len() > bytes { beginning(&text, bytes) } else { other.clone() }
        }
    }
}

fn beginning(text: &str, bytes: usize) -> Value {
    format!("{}…", &text[..text.floor_char_boundary(bytes)]).into()
}
