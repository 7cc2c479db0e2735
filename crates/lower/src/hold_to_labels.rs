//! What a project says about the sensitivity of its data, laid onto any document that runs for it.
//!
//! A document that was lowered from a flow under the same labels has the levels of its values already. A workflow gets
//! levels from what the arguments of its steps refer to. Any other document was checked for other labels or for none:
//! everything in it counts as the most sensitive field of the project.
//!
//! Invariant: the project decides who may have what, never the document.

use std::collections::BTreeMap;

use stave_canon::{Object, Value};
use stave_exec::dataflow;
use stave_exec::expression::literal;
use stave_exec::{Document, DocumentGraph, DocumentNode};
use stave_flow::model::Sensitivity;
use stave_operations::{FINISH, Form, step_kind};
use stave_script::{Read, reads};

/// The key of the policy that has the levels.
const KEY: &str = "sensitivity";

/// What the project says itself; everything else under the key are levels of values.
const SAID: [&str; 4] = ["accepts", "declassify", "fields", "restricted"];

/// Arguments of a workflow's step that are code or templates, whose reads are not analysed here.
const VERBATIM: [&str; 4] = ["code", "expression", "system", "template"];

/// The name of what a step takes without an argument.
const UNNAMED: &str = "";

type Fields = BTreeMap<String, Sensitivity>;

/// Lays what the project says under `sensitivity` in its baked policy onto the document. A project that says nothing
/// keeps the receivers of the document, but not its consents.
pub fn hold_to_labels(document: &mut Document, project: &Object) {
    let old = document.constants.policy.get(KEY).and_then(Value::as_object).cloned().unwrap_or_default();
    let is_covered = is_covered(&old, project);
    if project.is_empty() && is_covered {
        return;
    }
    let fields = levels(project.get("fields"));
    // The labels of the flow itself are in the document alone.
    let own = if is_covered { None } else { most_of(&old) };
    let mut rules = old;
    let replaced: &[&str] = if project.is_empty() { &["declassify"] } else { &SAID };
    for key in replaced {
        match project.get(*key) {
            Some(said) => rules.insert((*key).to_owned(), said.clone()),
            None => rules.shift_remove(*key),
        };
    }
    let nodes = &document.graph.nodes;
    let is_workflow = !nodes.iter().any(|node| dataflow::has_ports(&node.extra));
    let most = fields.values().copied().max().max(own);
    if let Some(most) = most.filter(|_| is_workflow || !is_covered) {
        let found = if is_workflow {
            of_workflow(&document.graph, &fields, most)
        } else {
            everything(&document.graph, most)
        };
        found.write(&mut rules);
        let context = rules.entry("context".to_owned()).or_insert_with(|| Object::new().into());
        if let Some(context) = context.as_object_mut() {
            fields.iter().for_each(|(name, level)| raise(context, name, *level));
        }
    }
    document.constants.policy.insert(KEY.to_owned(), rules.into());
}

/// Whether the levels of a document follow from labels and consents that the project still has.
fn is_covered(rules: &Object, project: &Object) -> bool {
    let known = levels(rules.get("fields"));
    let has = |(name, level): (String, Sensitivity)| known.get(&name).is_some_and(|known| *known >= level);
    let consents =
        |rules: &Object, name: &str| rules.get("declassify").is_some_and(|all| all.get(name).is_some());
    let taken = rules.get("declassify").and_then(Value::as_object).into_iter().flat_map(Object::keys);
    levels(project.get("fields")).into_iter().all(has)
        && taken.into_iter().all(|name| consents(project, name))
}

/// The most sensitive of all levels in a document.
fn most_of(rules: &Object) -> Option<Sensitivity> {
    let tables = ["context", "errors", "fields", "outputs", "reads", "replies", "state"];
    let tables = tables.iter().filter_map(|table| rules.get(*table));
    let inputs = rules.get("inputs").and_then(Value::as_object).into_iter().flat_map(Object::values);
    tables.chain(inputs).flat_map(|table| levels(Some(table)).into_values()).max()
}

/// A table of levels. A level that is not understood is the highest.
fn levels(table: Option<&Value>) -> Fields {
    let table = table.and_then(Value::as_object).into_iter().flatten();
    table.map(|(name, word)| (name.clone(), Sensitivity::at_worst(word.as_str()))).collect()
}

/// The levels of a document's values, by node.
#[derive(Debug, Default)]
pub(crate) struct Found {
    inputs: BTreeMap<String, Fields>,
    /// What a node makes, reveals and keeps.
    nodes: Fields,
}

impl Found {
    /// The most sensitive argument of a workflow's step.
    pub(crate) fn of_step(&self, node: &str) -> Sensitivity {
        self.nodes.get(node).copied().unwrap_or(Sensitivity::Public)
    }

    fn write(self, rules: &mut Object) {
        for table in ["outputs", "replies", "errors", "reads", "state"] {
            let table = rules.entry(table.to_owned()).or_insert_with(|| Object::new().into());
            if let Some(table) = table.as_object_mut() {
                self.nodes.iter().for_each(|(node, level)| raise(table, node, *level));
            }
        }
        let inputs = rules.entry("inputs".to_owned()).or_insert_with(|| Object::new().into());
        let Some(inputs) = inputs.as_object_mut() else { return };
        for (node, ports) in self.inputs {
            let table = inputs.entry(node).or_insert_with(|| Object::new().into());
            if let Some(table) = table.as_object_mut() {
                ports.iter().for_each(|(port, level)| raise(table, port, *level));
            }
        }
    }
}

fn raise(table: &mut Object, name: &str, level: Sensitivity) {
    let known = table.get(name).and_then(Value::as_str).and_then(Sensitivity::from_word);
    if known.is_none_or(|known| known < level) {
        table.insert(name.to_owned(), level.word().into());
    }
}

/// Every value at its most sensitive. The ports are those that the node names and those that edges lead to, whether or
/// not a runtime could read them: a port without a level would be public.
fn everything(graph: &DocumentGraph, most: Sensitivity) -> Found {
    let mut found = Found::default();
    for node in &graph.nodes {
        let into = graph.edges.iter().filter(|edge| edge.to == node.id);
        let fed = into.filter_map(|edge| edge.extra.get("to_port")?.as_str());
        let ports = dataflow::input_names(&node.extra).chain(fed);
        found.inputs.insert(node.id.clone(), ports.map(|port| (port.to_owned(), most)).collect());
        found.nodes.insert(node.id.clone(), most);
    }
    found
}

/// The levels of a workflow's steps: each makes as sensitive a result as its arguments and as what it takes without
/// arguments.
pub(crate) fn of_workflow(graph: &DocumentGraph, fields: &Fields, most: Sensitivity) -> Found {
    let mut found = Found::default();
    // Levels only rise and there are three, so this ends.
    loop {
        let mut changed = false;
        for node in &graph.nodes {
            let mut step = of_unnamed(node, graph, &found.nodes, most);
            if step > Sensitivity::Public {
                found.inputs.entry(node.id.clone()).or_default().insert(UNNAMED.to_owned(), step);
            }
            for (name, value) in &node.with {
                let is_text = VERBATIM.contains(&name.as_str());
                let level = if is_text { most } else { of_argument(value, fields, &found.nodes, most) };
                if level > Sensitivity::Public {
                    found.inputs.entry(node.id.clone()).or_default().insert(name.clone(), level);
                }
                step = step.max(level);
            }
            if step > found.nodes.get(&node.id).copied().unwrap_or(Sensitivity::Public) {
                found.nodes.insert(node.id.clone(), step);
                changed = true;
            }
        }
        if !changed {
            return found;
        }
    }
}

/// The level of what a step takes without naming it in its arguments. A kind that the catalogue does not have may take
/// everything, and so do the nodes of the request and the response.
fn of_unnamed(node: &DocumentNode, graph: &DocumentGraph, steps: &Fields, most: Sensitivity) -> Sensitivity {
    let known = step_kind(&node.kind).filter(|kind| kind.form != Form::Boundary);
    let Some(kind) = known else { return most };
    let of = |id: &str| steps.get(id).copied();
    let called = called_nodes(node).filter_map(of).max();
    let before = graph.edges.iter().filter(|edge| edge.to == node.id).filter_map(|edge| of(&edge.from));
    let passed_on = if kind.name == FINISH.name { before.max() } else { None };
    called.max(passed_on).unwrap_or(Sensitivity::Public)
}

/// The nodes whose results a step takes because it runs them itself.
fn called_nodes(node: &DocumentNode) -> impl Iterator<Item = &str> {
    let tools = node.with.get("tools").and_then(Value::as_array).unwrap_or_default();
    let tools = tools.iter().filter_map(|tool| tool.get("maps_to")?.as_str());
    tools.chain(node.with.get("node").and_then(Value::as_str))
}

fn of_argument(value: &Value, fields: &Fields, steps: &Fields, most: Sensitivity) -> Sensitivity {
    let inner = |value: &Value| of_argument(value, fields, steps, most);
    match value {
        // A run reads the literal that a text spells, and then the references in it.
        Value::String(text) => {
            let spelled = literal(text).filter(|value| value.as_str() != Some(text.as_str()));
            of_text(text, fields, steps, most).max(spelled.as_ref().map_or(Sensitivity::Public, inner))
        }
        Value::Array(items) => items.iter().map(inner).max().unwrap_or(Sensitivity::Public),
        Value::Object(object) => object.values().map(inner).max().unwrap_or(Sensitivity::Public),
        _ => Sensitivity::Public,
    }
}

fn of_text(text: &str, fields: &Fields, steps: &Fields, most: Sensitivity) -> Sensitivity {
    let field = |name: &str| fields.get(name).copied().unwrap_or(Sensitivity::Public);
    let placeholders = reads::of_text(text).into_iter().map(|(read, _)| match read {
        Read::Context(name) => field(&name),
        _ => most,
    });
    let filled = placeholders.max().unwrap_or(Sensitivity::Public);
    let text = text.trim();
    let after = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    let referred = if let Some(path) = after(["$input.", "$.inputs."]) {
        field(path.split('.').next().unwrap_or_default())
    } else if let Some(path) = after(["$step.", "$.vars."]) {
        // An id may have dots of its own.
        let is_named =
            |id: &str| path.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let named = steps.iter().filter(|(id, _)| is_named(id)).map(|(_, level)| *level);
        named.max().unwrap_or(Sensitivity::Public)
    } else if ["$input", "$.inputs", "$step", "$.vars"].iter().any(|reference| text.contains(reference)) {
        // The whole request, or a reference inside another text.
        most
    } else {
        Sensitivity::Public
    };
    filled.max(referred)
}
