//! What starts a workflow: `triggers`, checked and written as a file of their own.

use stave_canon::{Object, Value};
use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use super::Faults;
use super::bake::raw;
use super::tree::{Entry, Node};
use super::workflow::Workflow;
use crate::expression::literal;

/// The kinds of triggers, with the keys of which one must be there.
const KINDS: [(&str, &str, &[&str]); 5] = [
    ("cron", "cron", &["schedule", "cron"]),
    ("http", "http", &["route", "path"]),
    ("webhook", "http", &["route", "path"]),
    ("fs", "filesystem", &["path"]),
    ("filesystem", "filesystem", &["path"]),
];

/// The triggers of a workflow that has no errors, each with an id and the name of its flow.
#[must_use]
pub fn triggers(workflow: &Workflow, flow: &str) -> Vec<Value> {
    let mut triggers = Vec::new();
    for (index, (written, config)) in entries(workflow).into_iter().flatten().enumerate() {
        let Some((_, kind, needed)) = KINDS.iter().find(|(word, _, _)| *word == written) else { continue };
        let Value::Object(mut config) = config else { continue };
        let mut trigger = Object::new();
        let made_up = || format!("{flow}-{kind}-{}", index + 1).into();
        let id = config.shift_remove("id").map_or_else(made_up, plain);
        trigger.insert("id".into(), id);
        trigger.insert("kind".into(), (*kind).into());
        trigger.insert("flow".into(), flow.into());
        let place = needed.iter().find_map(|key| config.shift_remove(*key));
        let name = needed.first().copied().unwrap_or_default();
        trigger.insert(name.into(), place.map(plain).unwrap_or_default());
        if *kind == "http" {
            let method = config.shift_remove("method").map(plain);
            let method = method.as_ref().and_then(Value::as_str).unwrap_or("POST").to_uppercase();
            trigger.insert("method".into(), method.into());
        }
        trigger.extend(config.into_iter().map(|(key, value)| (key, plain(value))));
        triggers.push(Value::Object(trigger));
    }
    triggers
}

/// The file form of triggers: YAML, every value in JSON's notation.
#[must_use]
pub fn triggers_text(triggers: &[&Value]) -> String {
    let mut text = String::from("triggers:\n");
    for trigger in triggers {
        let mut lead = "  - ";
        for (key, value) in trigger.as_object().into_iter().flatten() {
            text.push_str(&format!("{lead}{}: {value}\n", Value::from(key.as_str())));
            lead = "    ";
        }
    }
    text
}

/// Checks the triggers of a workflow alone.
pub fn check_triggers(workflow: &Workflow) -> Result<(), Vec<Diagnostic>> {
    let mut faults = Faults { source: workflow.source, diagnostics: Vec::new() };
    lint(workflow, &mut faults);
    if faults.diagnostics.is_empty() { Ok(()) } else { Err(faults.diagnostics) }
}

/// Reports triggers that can not be meant.
pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    let Some(node) = &workflow.triggers else { return };
    let mut ids: Vec<String> = Vec::new();
    let known: Vec<&str> = KINDS.iter().map(|(word, _, _)| *word).collect();
    let mut report = |place, message: String, help: String| {
        let span = faults.span(place);
        faults.push(Diagnostic::new(codes::WDL_BAD_TRIGGER, span, message).help(help));
    };
    for (entry, at) in listed(node) {
        let Some(entry) = entry else {
            report(at, "a trigger is written `kind:` with its settings below".to_owned(), known.join(", "));
            continue;
        };
        let kind = entry.key.as_deref().unwrap_or_default();
        let Some((_, _, needed)) = KINDS.iter().find(|(word, _, _)| *word == kind) else {
            report(
                entry.key_place,
                format!("`{kind}` is not a kind of trigger"),
                format!("there are {}", known.join(", ")),
            );
            continue;
        };
        let Node::Mapping(config) = &entry.value else {
            report(
                entry.key_place,
                format!("the settings of `{kind}` are not a mapping"),
                "indent them below it".to_owned(),
            );
            continue;
        };
        let has = |key: &&str| config.entries.iter().any(|entry| entry.key.as_deref() == Some(*key));
        if !needed.iter().any(has) {
            let message = format!("trigger `{kind}` needs `{}`", needed.join("` or `"));
            report(entry.key_place, message, format!("add `{}:` below it", needed.first().unwrap_or(&"")));
        }
        let id = config.entries.iter().find(|entry| entry.key.as_deref() == Some("id"));
        if let Some(Node::Scalar(id)) = id.map(|entry| &entry.value) {
            if ids.contains(&id.text) {
                report(
                    id.place,
                    format!("the trigger id `{}` is taken", id.text),
                    "choose another".to_owned(),
                );
            }
            ids.push(id.text.clone());
        }
    }
}

/// The entries of `triggers`, and where one that is none stands.
fn listed(node: &Node) -> Vec<(Option<&Entry>, super::tree::Place)> {
    match node {
        Node::Mapping(mapping) => mapping
            .entries
            .iter()
            .map(|entry| (Some(entry).filter(|entry| entry.key.is_some()), entry.key_place))
            .collect(),
        Node::List(list) => list
            .items
            .iter()
            .map(|item| match item {
                Node::Mapping(mapping) => (mapping.entries.first(), mapping.place),
                other => (None, other.place()),
            })
            .collect(),
        Node::Scalar(scalar) => vec![(None, scalar.place)],
    }
}

fn entries(workflow: &Workflow) -> Option<Vec<(&str, Value)>> {
    let node = workflow.triggers.as_ref()?;
    let entries = listed(node).into_iter().filter_map(|(entry, _)| entry);
    Some(entries.filter_map(|entry| Some((entry.key.as_deref()?, raw(&entry.value)))).collect())
}

/// A text without its quotes.
fn plain(value: Value) -> Value {
    match &value {
        Value::String(text) if text.starts_with(['"', '\'']) => literal(text).unwrap_or(value),
        Value::String(text) => text.trim_end().into(),
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), plain(value.clone()))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().cloned().map(plain).collect()),
        _ => value,
    }
}
