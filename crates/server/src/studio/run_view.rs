//! A run as the studio shows it: every node with what came in and went out, every edge with what it carried,
//! and for all of it the line of the flow that it came from.

use std::collections::HashMap;
use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_exec::dataflow::{EdgeData, NodeData, Origin};
use stave_exec::{Document, DocumentEdge};
use stave_runtime::evidence;
use stave_runtime::journal::{JournalError, Question, RunStatus, StoredRun};
use stave_runtime::report_document::{NodeError, OpenQuestion, RunReportDocument, TokenUsage, milliseconds};
use stave_runtime::{Cost, NodeReport, Signal, Status};
use stave_shape::{Faults, Ordered};

use super::Studio;
use super::request::{TEXT_TIME, is_seen};
use crate::api::decisions;
use crate::api::prompt_types::AskedPrompt;
use crate::api::run_view_types::{
    EdgeRun, EdgeState, FilePlace, NodeRun, NodeRunStatus, NodeRunWhole, RunSource, RunView,
};
use crate::handlers::Call;
use crate::handlers::runs::find_shown;
use crate::problem::Problem;

/// The longest value that a whole run shows; a node on its own shows all of it.
const VALUE_BYTES: usize = 16 * 1024;

/// The longest request and output that it shows; the run API shows all of them.
const WHOLE_BYTES: usize = 64 * 1024;

/// The extra property of a document's metadata with the hash of the flow's text.
const SOURCE_HASH: &str = "source_sha256";

pub(super) async fn show(call: &Call<'_>, studio: &Studio, run: &str) -> Result<RunView, Problem> {
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
    let view = StoredView::new(&stored)?;
    let hash = stored.document.metadata.extra.get(SOURCE_HASH).and_then(Value::as_str);
    let is_changed = text.as_ref().zip(hash).map(|(text, hash)| stave_canon::prefixed_sha256(text) != hash);
    let file = stored.document.metadata.source_file.clone();
    let source = RunSource { file, path: path.into(), changed: is_changed.into(), text: text.into() };
    Ok(view.shown(source))
}

/// A node of a run, with what an answer adds to it.
macro_rules! node_run {
    ($type:ident, $view:ident, $node:ident, $bytes:expr $(, $more:ident)*) => {{
        let status = $view.status($node);
        let asks: Vec<OpenQuestion> = $view.questions(&$node.id).map(OpenQuestion::from).collect();
        let asked = asks.first().and_then(|asked| asked.question.0.clone());
        let cut = |members: Option<Object>| members.map(|members| cut_members(members, $bytes)).unzip();
        let (inputs, is_cut) = cut($view.inputs(&$node.id));
        let (outputs, is_cut_too) = cut($view.outputs(&$node.id));
        $type {
            id: $node.id.clone(),
            kind: $node.kind.clone(),
            status,
            attempts: $node.attempts,
            duration_ms: milliseconds($node.duration),
            started_ms: $node.started.map(milliseconds).into(),
            reason: asked.or_else(|| $node.reason.clone()).into(),
            error: NodeError::located($node).into(),
            model: $node.model.clone().into(),
            usage: $node.usage.as_ref().map(TokenUsage::from).into(),
            cost_micros: $node.cost.map(Cost::micros).into(),
            calls: $node.calls,
            cached: $node.cached,
            reused: $node.reused,
            degraded: $node.degraded,
            dropped_outputs: $node.dropped_outputs.clone(),
            flagged: $node.flagged.clone(),
            logs: $node.logs.clone(),
            inputs: inputs.into(),
            outputs: outputs.into(),
            truncated: is_cut == Some(true) || is_cut_too == Some(true),
            prompts: $node.questions.iter().map(evidence::AskedPrompt::request_count).sum::<usize>() as u64,
            asks,
            origin: $node.origin.map(FilePlace::from).into(),
            places: $view.places(&$node.id),
            $($more,)*
        }
    }};
}

/// A run with what its nodes were given.
pub(super) struct StoredView<'r> {
    stored: &'r StoredRun,
    report: stave_runtime::RunReport,
    /// The flow's properties of nodes that have them, by node.
    data: HashMap<&'r str, NodeData>,
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

impl<'r> StoredView<'r> {
    pub(super) fn new(stored: &'r StoredRun) -> Result<StoredView<'r>, Problem> {
        let damaged = |faults: Faults| Problem::journal(&JournalError::Damaged(faults.to_string()));
        let mut data = HashMap::new();
        for node in &stored.document.graph.nodes {
            if let Some(read) = NodeData::read(&node.extra).map_err(damaged)? {
                data.insert(node.id.as_str(), read);
            }
        }
        let arrivals = arrivals(stored).map_err(damaged)?;
        Ok(StoredView { stored, report: stored.report(), data, arrivals })
    }

    /// Where the texts of a node begin in the flow file.
    pub(super) fn text_origins(&self, node: &str) -> &[(String, Origin)] {
        self.data.get(node).map(|data| data.text_origins.0.as_slice()).unwrap_or_default()
    }

    fn shown(&self, source: RunSource) -> RunView {
        let summary = &self.stored.summary;
        let report = RunReportDocument::from(&self.report);
        let is_over = self.stored.ending.is_some();
        let (request, is_cut) = cut(self.stored.request.clone(), WHOLE_BYTES);
        let output = if is_over { report.output } else { Value::Null };
        let (output, is_cut_too) = cut(output, WHOLE_BYTES);
        RunView {
            run_id: summary.id.clone(),
            flow: summary.flow.clone(),
            status: summary.status,
            started_at: summary.started_at.to_string(),
            ended_at: summary.ended_at.map(|at| at.to_string()).into(),
            duration_ms: report.duration_ms,
            replay_of: summary.replay_of.clone().into(),
            request,
            output,
            truncated: is_cut || is_cut_too,
            error: report.error.0.filter(|_| is_over).into(),
            usage: report.usage,
            source,
            nodes: self.nodes().map(|node| self.node(node)).collect(),
            edges: self.arrivals.iter().map(Arrival::shown).collect(),
            decisions: decisions(self.stored),
        }
    }

    /// The nodes of the flow, in its order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &NodeReport> {
        self.report.nodes.iter().filter(|node| !node.id.starts_with('_'))
    }

    /// One node, with values of a bounded size.
    fn node(&self, node: &NodeReport) -> NodeRun {
        node_run!(NodeRun, self, node, VALUE_BYTES)
    }

    /// One node with whole values, and what models were asked on its behalf.
    pub(super) fn whole_node(&self, node: &NodeReport, questions: Vec<AskedPrompt>) -> NodeRunWhole {
        node_run!(NodeRunWhole, self, node, usize::MAX, questions)
    }

    /// What a node gave, by port.
    fn outputs(&self, node: &str) -> Option<Object> {
        let step = self.stored.steps.iter().find(|step| step.node == node)?;
        step.result.outputs.as_ref().ok().cloned()
    }

    fn places(&self, node: &str) -> Ordered<FilePlace> {
        let places = self.text_origins(node).iter();
        Ordered(places.map(|(key, origin)| (key.clone(), (*origin).into())).collect())
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

    /// The status of a node. The journal knows results; that a node is at work follows from its edges.
    fn status(&self, node: &NodeReport) -> NodeRunStatus {
        if self.questions(&node.id).next().is_some() {
            return NodeRunStatus::Asks;
        }
        let is_running = self.stored.summary.status == RunStatus::Running;
        match node.status {
            Status::Waiting if is_running && self.is_fed(&node.id) => NodeRunStatus::Running,
            Status::Waiting => NodeRunStatus::Waiting,
            Status::Ok => NodeRunStatus::Ok,
            Status::Error => NodeRunStatus::Error,
            Status::Skipped => NodeRunStatus::Skipped,
            Status::Cancelled => NodeRunStatus::Cancelled,
        }
    }

    /// Whether everything that leads to a node has a result, and some of it brought a value.
    fn is_fed(&self, node: &str) -> bool {
        let mut into = self.arrivals.iter().filter(|arrival| arrival.edge.to == node).peekable();
        let is_root = into.peek().is_none();
        if is_root {
            return !self.data.get(node).is_some_and(|data| data.tool);
        }
        into.all(|arrival| !matches!(arrival.brought, Brought::NotYet))
    }
}

impl Arrival<'_> {
    fn shown(&self) -> EdgeRun {
        let (state, value, reason) = match &self.brought {
            Brought::Value(value) => (EdgeState::Carried, Some(value), None),
            Brought::Nothing(reason) => (EdgeState::NotTaken, None, Some(reason)),
            Brought::NotYet => (EdgeState::None, None, None),
        };
        EdgeRun {
            from: self.edge.from.clone(),
            to: self.edge.to.clone(),
            from_port: self.data.from_port.clone().into(),
            to_port: self.data.to_port.clone().into(),
            origin: self.data.origin.map(FilePlace::from).into(),
            state,
            value: value.map(|value| cut(value.clone(), VALUE_BYTES).0),
            reason: reason.cloned(),
        }
    }
}

fn arrivals(stored: &StoredRun) -> Result<Vec<Arrival<'_>>, Faults> {
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
            let data = EdgeData::read(&edge.extra)?;
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
            Ok(Arrival { edge, data, brought })
        })
        .collect()
}

/// A value of at most so many bytes, and whether it was cut. A member that is too long is replaced by the
/// beginning of its text.
fn cut(value: Value, bytes: usize) -> (Value, bool) {
    match value {
        Value::Object(members) => {
            let (members, is_cut) = cut_members(members, bytes);
            (Value::Object(members), is_cut)
        }
        value => {
            let text = value.to_string();
            if text.len() <= bytes { (value, false) } else { (beginning(&text, bytes), true) }
        }
    }
}

/// The same for the members of an object.
fn cut_members(members: Object, bytes: usize) -> (Object, bool) {
    let value = Value::Object(members);
    let is_cut = value.to_string().len() > bytes;
    let Value::Object(members) = value else { return (Object::new(), false) };
    if !is_cut {
        return (members, false);
    }
    let share = bytes / members.len().max(1);
    (members.into_iter().map(|(key, value)| (key, shortened(&value, share))).collect(), true)
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
