//! The flow as all lines at once, with the places in each that are about the same thing.

use std::collections::{BTreeMap, HashMap};

use stave_canon::{Locator, Value};
use stave_diag::{SourceId, Span};
use stave_flow::model::{Flow, Text};

use super::places::Places;
use super::request::{TextCall, problem};
use super::workspace::CompiledLines;
use super::{Studio, object};
use crate::handlers::Call;
use crate::problem::Problem;

pub(super) async fn lines(call: Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    let (call, path) = TextCall::read_or_file(call, studio).await?;
    let answer = call.work(studio, move |call, _, workspace| {
        let compiled = workspace.compile(&path, &call.text);
        let compiled = compiled.map_err(|error| problem(&error, Some(&call.text)))?;
        Ok(shown(&call.text, &compiled))
    });
    answer.await?
}

fn shown(text: &str, compiled: &CompiledLines) -> Value {
    let parse = |text: &str| stave_canon::parse(text).unwrap_or_default();
    let (exec, system) = (parse(&compiled.exec), parse(&compiled.system));
    let line = |text: &str| object([("text", text.into())]);
    object([
        ("flow", line(text)),
        ("exec", line(&compiled.exec)),
        ("system", line(&compiled.system)),
        ("bundle", line(&compiled.bundle)),
        ("manifest", line(&compiled.manifest)),
        ("parts", parts(text, compiled, &exec, &system)),
        ("facts", facts(compiled, &exec, &system)),
    ])
}

/// Something that stands in several lines.
#[derive(Debug, Default)]
struct Part {
    kind: &'static str,
    title: String,
    flow: Vec<Value>,
    exec: Vec<Value>,
    system: Vec<Value>,
}

/// The parts by id, in the order in which they were met.
#[derive(Default)]
struct Parts {
    all: Vec<(String, Part)>,
    places: HashMap<String, usize>,
}

impl Parts {
    fn part(&mut self, id: String, kind: &'static str, title: &str) -> &mut Part {
        let place = *self.places.entry(id).or_insert_with_key(|id| {
            self.all.push((id.clone(), Part { kind, title: title.to_owned(), ..Part::default() }));
            self.all.len() - 1
        });
        &mut self.all[place].1
    }
}

fn parts(text: &str, compiled: &CompiledLines, exec: &Value, system: &Value) -> Value {
    let places = Places::new(text);
    let mut parts = Parts::default();
    if let Some(flow) = stave_flow::parse(SourceId(0), text).flow {
        of_flow(&flow, &places, &mut parts);
    }
    of_exec(&compiled.exec, exec, &mut parts);
    of_system(&compiled.system, system, &places, &mut parts);
    let shown = parts.all.into_iter().map(|(id, part)| {
        object([
            ("id", id.into()),
            ("kind", part.kind.into()),
            ("title", part.title.into()),
            ("flow", part.flow.into()),
            ("exec", part.exec.into()),
            ("system", part.system.into()),
        ])
    });
    Value::Array(shown.collect())
}

fn of_flow(flow: &Flow, places: &Places, parts: &mut Parts) {
    let range = |span: Span| {
        let mut range = span.range();
        let text = places.text().get(range.clone()).unwrap_or_default();
        range.end = range.start + text.trim_end().len();
        Value::from(places.range_of(range))
    };
    let name = flow.metadata.name.as_ref().map_or("flow", Text::as_str);
    if !flow.metadata.span.is_empty() {
        parts.part("flow".to_owned(), "flow", name).flow.push(range(flow.metadata.span));
    }
    if !flow.context.span.is_empty() {
        parts.part("node:_input".to_owned(), "node", "request").flow.push(range(flow.context.span));
    }
    for node in flow.nodes.values() {
        let part = parts.part(format!("node:{}", node.id.as_str()), "node", node.id.as_str());
        part.flow.push(range(node.id.span.to(node.span)));
    }
    for edge in &flow.edges {
        let end = |end: &Option<stave_flow::model::Endpoint>| end.as_ref().map(ToString::to_string);
        let title =
            format!("{} → {}", end(&edge.from).unwrap_or_default(), end(&edge.to).unwrap_or_default());
        parts.part(format!("edge:{}", edge.index), "edge", &title).flow.push(range(edge.span));
    }
    if let Some(deployment) = flow.deployment.as_ref() {
        parts.part("deployment".to_owned(), "deployment", "deployment").flow.push(range(deployment.span));
    }
}

fn of_exec(text: &str, exec: &Value, parts: &mut Parts) {
    let places = Places::new(text);
    let range =
        |pointer: &str| stave_canon::locate(text, pointer).map(|range| Value::from(places.range_of(range)));
    let mut add = |id: String, kind: &'static str, title: &str, pointer: &str| {
        parts.part(id, kind, title).exec.extend(range(pointer));
    };
    let name = exec.pointer("/flow/name").and_then(Value::as_str).unwrap_or("flow");
    add("flow".to_owned(), "flow", name, "/flow");
    add("policy".to_owned(), "policy", "policy", "/constants");
    if exec.pointer("/metadata/deployment").is_some() {
        add("deployment".to_owned(), "deployment", "deployment", "/metadata/deployment");
    }
    // The locator walks over each list of the graph once, and not over the text for each item.
    let graph = stave_canon::locate(text, "/graph").unwrap_or_default();
    let mut locator = Locator::new(text.get(graph.clone()).unwrap_or_default());
    let mut range = |pointer: &str| {
        let found = locator.locate(pointer)?;
        Some(Value::from(places.range_of(found.start + graph.start..found.end + graph.start)))
    };
    let nodes = exec.pointer("/graph/nodes").and_then(Value::as_array).unwrap_or_default();
    for (index, node) in nodes.iter().enumerate() {
        let id = node.get("id").and_then(Value::as_str).unwrap_or_default();
        let part = parts.part(format!("node:{id}"), "node", id);
        part.exec.extend(range(&format!("/nodes/{index}")));
    }
    // Edges of a flow without errors are lowered one by one, in order.
    let edges = exec.pointer("/graph/edges").and_then(Value::as_array).unwrap_or_default();
    for index in 0..edges.len() {
        let part = parts.part(format!("edge:{index}"), "edge", "");
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
            ("workflow", Some(step)) => (format!("node:{step}"), "node"),
            ("intent", _) => ("flow".to_owned(), "flow"),
            ("policy", _) => ("policy".to_owned(), "policy"),
            ("infrastructure", _) => ("deployment".to_owned(), "deployment"),
            ("integration", _) => (format!("integration:{name}"), "integration"),
            ("entity", _) => (format!("entity:{name}"), "entity"),
            _ => (format!("other:{name}"), "other"),
        };
        let range =
            locator.locate(&format!("/nodes/{index}")).map(|range| Value::from(places.range_of(range)));
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
fn lines_of(row: &Value, places: &Places) -> Option<Value> {
    let (first, last) = row.get("locator")?.as_str()?.split_once('-')?;
    let number = |text: &str| text.strip_prefix('L')?.parse::<u32>().ok();
    places.lines(number(first)?, number(last)?).map(Value::from)
}

/// What is worth reading at a glance: whose it is, what it may touch, what it promises.
fn facts(compiled: &CompiledLines, exec: &Value, system: &Value) -> Value {
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let mut effects: BTreeMap<(&'static str, String), Vec<String>> = BTreeMap::new();
    let mut contracts = Vec::new();
    let nodes = system.get("nodes").and_then(Value::as_array).unwrap_or_default();
    for node in nodes {
        let name = node.get("name").and_then(Value::as_str).unwrap_or_default();
        let kind = node.get("kind").and_then(Value::as_str).unwrap_or_default();
        let mut add = |what: &'static str, which: String| {
            let nodes = effects.entry((what, which)).or_default();
            if !nodes.iter().any(|known| known == name) {
                nodes.push(name.to_owned());
            }
        };
        if let Some(touched) = node.get("effects").filter(|touched| !touched.is_null()) {
            if touched.get("network").and_then(Value::as_bool).unwrap_or_default() {
                add("network", if kind == "integration" { name.to_owned() } else { "network".to_owned() });
            }
            for (key, what) in
                [("secrets", "secret"), ("tools", "tool"), ("fs_read", "other"), ("fs_write", "other")]
            {
                for item in touched.get(key).and_then(Value::as_array).unwrap_or_default() {
                    add(what, item.as_str().unwrap_or_default().to_owned());
                }
            }
        }
        if kind == "entity" {
            add("state", name.to_owned());
        }
        if let Some(contract) = node.get("contract").filter(|contract| !contract.is_null()) {
            contracts.push(object([
                ("node", name.into()),
                ("kind", text(contract, "/contract_category").unwrap_or_default().into()),
                ("summary", summary(contract).into()),
                ("contract", contract.clone()),
            ]));
        }
    }
    let effects = effects.into_iter().map(|((kind, what), nodes)| {
        object([("kind", kind.into()), ("what", what.into()), ("nodes", nodes.into())])
    });
    let [exec_hash, system_hash, bundle_hash] = compiled.fingerprints.clone();
    object([
        ("tenant", text(system, "/tenant_id").into()),
        ("repo", text(system, "/repo_id").into()),
        ("policy", text(exec, "/constants/policyRef").into()),
        (
            "fingerprints",
            object([
                ("exec", exec_hash.into()),
                ("system", system_hash.into()),
                ("bundle", bundle_hash.into()),
            ]),
        ),
        ("effects", Value::Array(effects.collect())),
        ("contracts", contracts.into()),
    ])
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
