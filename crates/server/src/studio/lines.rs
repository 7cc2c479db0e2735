//! The flow as all lines at once, with the places in each that are about the same thing.

use std::collections::{BTreeMap, HashMap};

use hyper::StatusCode;
use stave_canon::{Locator, Value};
use stave_diag::{SourceId, Span};
use stave_flow::model::{Flow, Text};

use super::Studio;
use super::places::Places;
use super::request::{TEXT_TIME, TextCall, problem};
use super::workspace::CompiledLines;
use crate::api::line_types::{
    Fingerprints, LineContract, LineEffect, LineEffectKind, LineFacts, LineText, Lines, Part, PartKind,
};
use crate::api::text_types::{FileSubject, Range};
use crate::handlers::Call;
use crate::problem::Problem;

/// The longest text whose lines are shown. They are together many times as long.
const LINES_BYTES: usize = 512 * 1024;

pub(super) async fn lines(call: Call<'_>, studio: &Studio) -> Result<Lines, Problem> {
    let (call, path) = TextCall::<FileSubject>::read_or_file(call, studio).await?;
    if call.text.len() > LINES_BYTES {
        let detail =
            format!("the lines of a text longer than {LINES_BYTES} bytes are not shown; compile it instead");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail));
    }
    let answer = call.work_while_wanted(studio, move |call, workspace, wanted| {
        let compiled = workspace.compile(&path, &call.text, &|| wanted.is_wanted());
        let compiled = compiled.map_err(|error| problem(&error, Some(&call.text)))?;
        wanted.check(TEXT_TIME)?;
        Ok(shown(&call.text, &compiled))
    });
    answer.await?
}

fn shown(text: &str, compiled: &CompiledLines) -> Lines {
    let parse = |text: &str| stave_canon::parse(text).unwrap_or_default();
    let (exec, system) = (parse(&compiled.exec), parse(&compiled.system));
    let line = |text: &str| LineText { text: text.to_owned() };
    Lines {
        flow: line(text),
        exec: line(&compiled.exec),
        system: line(&compiled.system),
        bundle: line(&compiled.bundle),
        manifest: line(&compiled.manifest),
        parts: parts(text, compiled, &exec, &system),
        facts: facts(compiled, &exec, &system),
    }
}

/// The parts by id, in the order in which they were met.
#[derive(Default)]
struct Parts {
    all: Vec<Part>,
    places: HashMap<String, usize>,
}

impl Parts {
    fn part(&mut self, id: String, kind: PartKind, title: &str) -> &mut Part {
        let place = *self.places.entry(id).or_insert_with_key(|id| {
            let (flow, exec, system) = (Vec::new(), Vec::new(), Vec::new());
            self.all.push(Part { id: id.clone(), kind, title: title.to_owned(), flow, exec, system });
            self.all.len() - 1
        });
        &mut self.all[place]
    }
}

fn parts(text: &str, compiled: &CompiledLines, exec: &Value, system: &Value) -> Vec<Part> {
    let places = Places::new(text);
    let mut parts = Parts::default();
    if let Some(flow) = stave_flow::parse(SourceId(0), text).flow {
        of_flow(&flow, &places, &mut parts);
    }
    of_exec(&compiled.exec, exec, &mut parts);
    of_system(&compiled.system, system, &places, &mut parts);
    parts.all
}

fn of_flow(flow: &Flow, places: &Places, parts: &mut Parts) {
    let range = |span: Span| places.trimmed(span);
    let name = flow.metadata.name.as_ref().map_or("flow", Text::as_str);
    if !flow.metadata.span.is_empty() {
        parts.part("flow".to_owned(), PartKind::Flow, name).flow.push(range(flow.metadata.span));
    }
    if !flow.context.span.is_empty() {
        parts.part("node:_input".to_owned(), PartKind::Node, "request").flow.push(range(flow.context.span));
    }
    for node in flow.nodes.values() {
        let part = parts.part(format!("node:{}", node.id.as_str()), PartKind::Node, node.id.as_str());
        part.flow.push(range(node.id.span.to(node.span)));
    }
    for edge in &flow.edges {
        let end = |end: &Option<stave_flow::model::Endpoint>| end.as_ref().map(ToString::to_string);
        let title =
            format!("{} → {}", end(&edge.from).unwrap_or_default(), end(&edge.to).unwrap_or_default());
        parts.part(format!("edge:{}", edge.index), PartKind::Edge, &title).flow.push(range(edge.span));
    }
    if let Some(deployment) = flow.deployment.as_ref() {
        parts
            .part("deployment".to_owned(), PartKind::Deployment, "deployment")
            .flow
            .push(range(deployment.span));
    }
}

fn of_exec(text: &str, exec: &Value, parts: &mut Parts) {
    let places = Places::new(text);
    let range = |pointer: &str| stave_canon::locate(text, pointer).map(|range| places.range_of(range));
    let mut add = |id: String, kind: PartKind, title: &str, pointer: &str| {
        parts.part(id, kind, title).exec.extend(range(pointer));
    };
    let name = exec.pointer("/flow/name").and_then(Value::as_str).unwrap_or("flow");
    add("flow".to_owned(), PartKind::Flow, name, "/flow");
    add("policy".to_owned(), PartKind::Policy, "policy", "/constants");
    if exec.pointer("/metadata/deployment").is_some() {
        add("deployment".to_owned(), PartKind::Deployment, "deployment", "/metadata/deployment");
    }
    // The locator walks over each list of the graph once, and not over the text for each item.
    let graph = stave_canon::locate(text, "/graph").unwrap_or_default();
    let mut locator = Locator::new(text.get(graph.clone()).unwrap_or_default());
    let mut range = |pointer: &str| {
        let found = locator.locate(pointer)?;
        Some(places.range_of(found.start + graph.start..found.end + graph.start))
    };
    let nodes = exec.pointer("/graph/nodes").and_then(Value::as_array).unwrap_or_default();
    for (index, node) in nodes.iter().enumerate() {
        let id = node.get("id").and_then(Value::as_str).unwrap_or_default();
        let part = parts.part(format!("node:{id}"), PartKind::Node, id);
        part.exec.extend(range(&format!("/nodes/{index}")));
    }
    // Edges of a flow without errors are lowered one by one, in order.
    let edges = exec.pointer("/graph/edges").and_then(Value::as_array).unwrap_or_default();
    for index in 0..edges.len() {
        let part = parts.part(format!("edge:{index}"), PartKind::Edge, "");
        part.exec.extend(range(&format!("/edges/{index}")));
    }
}

fn of_system(text: &str, system: &Value, flow_places: &Places, parts: &mut Parts) {
    let places = Places::new(text);
    let mut locator = Locator::new(text);
    let nodes = system.get("nodes").and_then(Value::as_array).unwrap_or_default();
    for (index, node) in nodes.iter().enumerate() {
        let word = |key: &str| node.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = word("name");
        let step = node.pointer("/properties/step_id").and_then(Value::as_str);
        let (id, kind) = match (word("kind"), step) {
            ("workflow", Some(step)) => (format!("node:{step}"), PartKind::Node),
            ("intent", _) => ("flow".to_owned(), PartKind::Flow),
            ("policy", _) => ("policy".to_owned(), PartKind::Policy),
            ("infrastructure", _) => ("deployment".to_owned(), PartKind::Deployment),
            ("integration", _) => (format!("integration:{name}"), PartKind::Integration),
            ("entity", _) => (format!("entity:{name}"), PartKind::Entity),
            _ => (format!("other:{name}"), PartKind::Other),
        };
        let range = locator.locate(&format!("/nodes/{index}")).map(|range| places.range_of(range));
        let part = parts.part(id, kind, name);
        part.system.extend(range);
        // Its rows say which lines of the flow it came from.
        if part.flow.is_empty() {
            let rows = node.get("provenance").and_then(Value::as_array).unwrap_or_default();
            part.flow.extend(rows.iter().filter_map(|row| lines_of(row, flow_places)));
        }
    }
}

/// The lines that a provenance row names, as `L3-L9`.
fn lines_of(row: &Value, places: &Places) -> Option<Range> {
    let (first, last) = row.get("locator")?.as_str()?.split_once('-')?;
    let number = |text: &str| text.strip_prefix('L')?.parse::<u32>().ok();
    places.lines(number(first)?, number(last)?)
}

/// What is worth reading at a glance: whose it is, what it may touch, what it promises.
fn facts(compiled: &CompiledLines, exec: &Value, system: &Value) -> LineFacts {
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    // In the order of the words.
    let mut effects: BTreeMap<(&'static str, String), LineEffect> = BTreeMap::new();
    let mut contracts = Vec::new();
    let nodes = system.get("nodes").and_then(Value::as_array).unwrap_or_default();
    for node in nodes {
        let name = node.get("name").and_then(Value::as_str).unwrap_or_default();
        let kind = node.get("kind").and_then(Value::as_str).unwrap_or_default();
        let mut add = |kind: LineEffectKind, what: String| {
            let effect = effects.entry((kind.word(), what.clone()));
            let effect = effect.or_insert_with(|| LineEffect { kind, what, nodes: Vec::new() });
            if !effect.nodes.iter().any(|known| known == name) {
                effect.nodes.push(name.to_owned());
            }
        };
        if let Some(touched) = node.get("effects").filter(|touched| !touched.is_null()) {
            if touched.get("network").and_then(Value::as_bool).unwrap_or_default() {
                let host = if kind == "integration" { name } else { "network" };
                add(LineEffectKind::Network, host.to_owned());
            }
            for (key, what) in [
                ("secrets", LineEffectKind::Secret),
                ("tools", LineEffectKind::Tool),
                ("fs_read", LineEffectKind::Other),
                ("fs_write", LineEffectKind::Other),
            ] {
                for item in touched.get(key).and_then(Value::as_array).unwrap_or_default() {
                    add(what, item.as_str().unwrap_or_default().to_owned());
                }
            }
        }
        if kind == "entity" {
            add(LineEffectKind::State, name.to_owned());
        }
        if let Some(contract) = node.get("contract").filter(|contract| !contract.is_null()) {
            contracts.push(LineContract {
                node: name.to_owned(),
                kind: text(contract, "/contract_category").unwrap_or_default(),
                summary: summary(contract),
                contract: contract.clone(),
            });
        }
    }
    let [exec_hash, system_hash, bundle_hash] = compiled.fingerprints.clone();
    LineFacts {
        tenant: text(system, "/tenant_id").into(),
        repo: text(system, "/repo_id").into(),
        policy: text(exec, "/constants/policyRef").into(),
        fingerprints: Fingerprints { exec: exec_hash, system: system_hash, bundle: bundle_hash },
        effects: effects.into_values().collect(),
        contracts,
    }
}

/// A contract in one line: what goes in and out, and what it may use up.
fn summary(contract: &Value) -> String {
    let keys = |pointer: &str| -> String {
        let keys = contract.pointer(pointer).and_then(Value::as_array).unwrap_or_default();
        keys.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!("{} → {}", keys("/io_contract/input_keys"), keys("/io_contract/output_keys"));
    for (key, unit) in [("max_seconds", "s"), ("max_steps", "attempts"), ("max_tokens", "tokens")] {
        let bound = contract.get("runtime_budget").and_then(|budget| budget.get(key));
        if let Some(bound) = bound.filter(|bound| !bound.is_null()) {
            text.push_str(&format!(", at most {bound} {unit}"));
        }
    }
    text
}
