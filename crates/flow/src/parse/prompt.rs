//! The prompt layer.

use stave_vocabulary::{OnDenied, PhaseType};

use super::fields::{Fields, Reader, as_text, unknown_word, wrong_type};
use super::node::first_line;
use crate::model::{Fallback, Model, Prompt, ReadableList, Spanned, ToolDeclaration, Trigger};
use crate::yaml::{Tree, TreeValue, YamlEntry};

const TRIGGERS: [(&str, Trigger); 3] =
    [("timeout", Trigger::Timeout), ("error", Trigger::Error), ("validation_fail", Trigger::ValidationFail)];

/// The fields that version 1.1 adds.
const LATER_FIELDS: [&str; 10] = [
    "role",
    "template_id",
    "context_refs",
    "phase",
    "priority",
    "constraints",
    "token_budget",
    "schema_id",
    "output_requirements",
    "on_denied",
];

pub(super) fn prompt(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Prompt> {
    let owner = format!("`prompt` of {owner}");
    let key = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key, owner.clone())?;
    let system = fields.text(reader, "system");
    let template = fields.required_text(reader, "template");
    let model = fields.optional("model").and_then(|entry| model(reader, entry, &owner));
    let output_schema = fields.optional("output_schema").map(|entry| entry.value.clone());
    let temperature = fields.number(reader, "temperature");
    let max_tokens = fields.count(reader, "max_tokens", 1);
    let role = fields.text(reader, "role");
    let template_id = fields.text(reader, "template_id");
    let context_refs = fields.texts(reader, "context_refs").unwrap_or_default();
    let phase = fields.optional("phase").and_then(|entry| phase(reader, entry, &owner));
    let priority = fields.count(reader, "priority", 1);
    let constraints = fields.texts(reader, "constraints").unwrap_or_default();
    let token_budget = fields.count(reader, "token_budget", 1);
    let schema_id = fields.text(reader, "schema_id");
    let output_requirements = fields.optional("output_requirements");
    let output_requirements = output_requirements.and_then(|entry| mapping(reader, entry, &owner));
    let on_denied = fields.optional("on_denied").and_then(|entry| on_denied(reader, entry, &owner));
    fields.added_in(reader, 1, &LATER_FIELDS);
    let tools = fields.optional("tools").map(|entry| tools(reader, entry, &owner)).unwrap_or_default();
    let fallback = fields.optional("fallback").and_then(|entry| fallback(reader, entry, &owner));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Prompt {
        key,
        span,
        system,
        template,
        model,
        output_schema,
        temperature,
        max_tokens,
        role,
        template_id,
        context_refs,
        phase,
        priority,
        constraints,
        token_budget,
        schema_id,
        output_requirements,
        tools,
        on_denied,
        fallback,
        extra,
    })
}

/// The requirements as they are; a rule reads what is in them.
fn mapping(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Tree> {
    if entry.value.entries().is_none() {
        let path = format!("`output_requirements` of {owner}");
        wrong_type(reader, &entry.value, entry.key.span, &path, "a mapping");
        return None;
    }
    Some(entry.value.clone())
}

fn phase(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Spanned<PhaseType>> {
    let path = format!("`phase` of {owner}");
    let text = as_text(reader, entry, &path)?;
    let phase = PhaseType::from_word(text.as_str());
    if phase.is_none() {
        reader.report(unknown_word(&text, &path, PhaseType::ALL.iter().map(|phase| phase.word())));
    }
    phase.map(|phase| Spanned::new(phase, text.span))
}

fn on_denied(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Spanned<OnDenied>> {
    let path = format!("`on_denied` of {owner}");
    let text = as_text(reader, entry, &path)?;
    let word = OnDenied::from_word(text.as_str());
    if word.is_none() {
        reader.report(unknown_word(&text, &path, OnDenied::ALL.iter().map(|one| one.word())));
    }
    word.map(|word| Spanned::new(word, text.span))
}

fn model(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Model> {
    let key = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key, format!("`model` of {owner}"))?;
    let provider = fields.required_text(reader, "provider");
    let name = fields.required_text(reader, "name");
    let endpoint = fields.text(reader, "endpoint");
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Model { key, span, provider, name, endpoint, extra })
}

fn tools(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> ReadableList<ToolDeclaration> {
    let Some(items) = entry.value.items() else {
        let path = format!("`tools` of {owner}");
        wrong_type(reader, &entry.value, entry.key.span, &path, "a list of tools");
        return ReadableList::unreadable();
    };
    let read: Vec<ToolDeclaration> = items.iter().filter_map(|item| tool(reader, item, owner)).collect();
    let unreadable = items.len() - read.len();
    ReadableList::new(read, unreadable)
}

fn tool(reader: &mut Reader<'_>, item: &Tree, owner: &str) -> Option<ToolDeclaration> {
    let name = item.get("name").and_then(Tree::text);
    let named = name
        .map_or_else(|| format!("a tool of {owner}"), |name| format!("tool `{}` of {owner}", name.as_str()));
    let mut fields = Fields::of(reader, item, first_line(item), named)?;
    let name = fields.required_text(reader, "name");
    let description = fields.required_text(reader, "description");
    let parameters = fields.required(reader, "parameters").map(|entry| entry.value.clone());
    let maps_to = fields.readable_text(reader, "maps_to");
    let mcp = fields.readable_text(reader, "mcp");
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(ToolDeclaration { span, name, description, parameters, maps_to, mcp, extra })
}

fn fallback(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Fallback> {
    let owner = format!("`fallback` of {owner}");
    let key = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key, owner.clone())?;
    let on = fields.required(reader, "on").and_then(|entry| triggers(reader, entry, &owner));
    let model = fields.readable("model", |entry| model(reader, entry, &owner));
    let static_response = fields.readable_text(reader, "static_response");
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Fallback { key, span, on, model, static_response, extra })
}

/// One word, a list of words, or `any`.
fn triggers(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Spanned<Vec<Trigger>>> {
    let path = format!("`on` of {owner}");
    let span = entry.value.span;
    let items = match &entry.value.value {
        TreeValue::Sequence(items) if items.is_empty() => {
            wrong_type(reader, &entry.value, entry.key.span, &path, "a trigger or a list with at least one");
            return None;
        }
        TreeValue::Sequence(items) => items.iter().collect(),
        TreeValue::String(_) => vec![&entry.value],
        _ => {
            as_text(reader, entry, &path);
            return None;
        }
    };
    let mut triggers = Vec::new();
    for item in items {
        let Some(text) = item.text() else {
            wrong_type(reader, item, item.span, &path, "a string");
            continue;
        };
        let word = text.as_str();
        let meant = TRIGGERS.iter().filter(|(known, _)| *known == word || word == "any");
        let before = triggers.len();
        triggers.extend(meant.map(|(_, trigger)| *trigger));
        if triggers.len() == before {
            let words = TRIGGERS.iter().map(|(word, _)| *word).chain(["any"]);
            reader.report(unknown_word(text, &path, words));
        }
    }
    triggers.sort_unstable();
    triggers.dedup();
    (!triggers.is_empty()).then(|| Spanned::new(triggers, span))
}
