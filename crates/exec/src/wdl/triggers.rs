//! What starts a workflow: `triggers`, checked and written as a file of their own.

use stave_canon::{Object, Value};
use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use super::Faults;
use super::bake::raw;
use super::tree::{Mapping, WdlEntry, WdlLocation, WdlNode};
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

/// A trigger as it is written: `kind:` with its settings below, or settings among which `type` is the kind.
struct Written<'n> {
    kind: String,
    place: WdlLocation,
    /// Absent when the value below the kind is not a mapping.
    settings: Option<Vec<&'n WdlEntry>>,
}

/// The triggers of a workflow that has no errors, each with an id and the name of its flow.
#[must_use]
pub fn triggers(workflow: &Workflow, flow: &str) -> Vec<Value> {
    let written = workflow.triggers.as_ref().map(written).unwrap_or_default();
    let mut triggers = Vec::new();
    for (index, written) in written.into_iter().flatten().enumerate() {
        let Some((_, kind, needed)) = KINDS.iter().find(|(word, _, _)| *word == written.kind) else {
            continue;
        };
        let settings = written.settings.unwrap_or_default().into_iter();
        let mut config: Object =
            settings.filter_map(|entry| Some((entry.key.clone()?, plain(raw(&entry.value))))).collect();
        let mut trigger = Object::new();
        let made_up = || format!("{flow}-{kind}-{}", index + 1).into();
        trigger.insert("id".into(), config.shift_remove("id").unwrap_or_else(made_up));
        trigger.insert("kind".into(), (*kind).into());
        trigger.insert("flow".into(), flow.into());
        let place = needed.iter().find_map(|key| config.shift_remove(*key));
        let name = needed.first().copied().unwrap_or_default();
        trigger.insert(name.into(), place.unwrap_or_default());
        if *kind == "http" {
            let method = config.shift_remove("method");
            let method = method.as_ref().and_then(Value::as_str).unwrap_or("POST").to_uppercase();
            trigger.insert("method".into(), method.into());
        }
        trigger.extend(config);
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

/// Reports triggers that cannot be meant.
pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    let Some(node) = &workflow.triggers else { return };
    let mut ids: Vec<String> = Vec::new();
    let known: Vec<&str> = KINDS.iter().map(|(word, _, _)| *word).collect();
    let mut report = |place, message: String, help: String| {
        let span = faults.span(place);
        faults.push(Diagnostic::new(codes::WDL_BAD_TRIGGER, span, message).help(help));
    };
    for written in written(node) {
        let Written { kind, place, settings } = match written {
            Ok(written) => written,
            Err(at) => {
                let message = "a trigger is written `kind:` with its settings below".to_owned();
                report(at, message, known.join(", "));
                continue;
            }
        };
        let Some((_, _, needed)) = KINDS.iter().find(|(word, _, _)| *word == kind) else {
            let message = format!("`{kind}` is not a kind of trigger");
            report(place, message, format!("there are {}", known.join(", ")));
            continue;
        };
        let Some(settings) = settings else {
            let message = format!("the settings of `{kind}` are not a mapping");
            report(place, message, "indent them below it".to_owned());
            continue;
        };
        let find = |key: &str| settings.iter().find(|entry| entry.key.as_deref() == Some(key));
        if !needed.iter().any(|key| find(key).is_some()) {
            let message = format!("trigger `{kind}` needs `{}`", needed.join("` or `"));
            report(place, message, format!("add `{}:` below it", needed.first().unwrap_or(&"")));
        }
        if let Some(WdlNode::Scalar(id)) = find("id").map(|entry| &entry.value) {
            if ids.contains(&id.text) {
                let message = format!("the trigger id `{}` is taken", id.text);
                report(id.place, message, "choose another".to_owned());
            }
            ids.push(id.text.clone());
        }
    }
}

/// The entries of `triggers`, and the places of those that are not triggers.
fn written(node: &WdlNode) -> Vec<Result<Written<'_>, WdlLocation>> {
    match node {
        WdlNode::Mapping(mapping) => in_mapping(mapping),
        WdlNode::List(list) => {
            let items = list.items.iter().map(|item| match item {
                WdlNode::Mapping(mapping) => in_mapping(mapping),
                other => vec![Err(other.place())],
            });
            items.flatten().collect()
        }
        WdlNode::Scalar(scalar) => vec![Err(scalar.place)],
    }
}

fn in_mapping(mapping: &Mapping) -> Vec<Result<Written<'_>, WdlLocation>> {
    let kind = mapping.entries.iter().find(|entry| entry.key.as_deref() == Some("type"));
    if let Some((entry, WdlNode::Scalar(kind))) = kind.map(|entry| (entry, &entry.value)) {
        let kind = plain(kind.text.as_str().into()).as_str().unwrap_or(&kind.text).to_owned();
        let settings = mapping.entries.iter().filter(|other| !std::ptr::eq(*other, entry)).collect();
        return vec![Ok(Written { kind, place: entry.key_place, settings: Some(settings) })];
    }
    let entries = mapping.entries.iter().map(|entry| {
        let kind = entry.key.clone().ok_or(entry.key_place)?;
        let settings = match &entry.value {
            WdlNode::Mapping(mapping) => Some(mapping.entries.iter().collect()),
            _ => None,
        };
        Ok(Written { kind, place: entry.key_place, settings })
    });
    entries.collect()
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
