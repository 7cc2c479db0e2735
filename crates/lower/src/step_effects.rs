//! What a step of an exec document needs from its surroundings, for comparison with what a system declares.

use std::collections::BTreeSet;

use stave_canon::Value;
use stave_exec::DocumentNode;
use stave_operations::{Effects, step_kind};
use stave_prompt::{ContextRef, FileSelection};
use stave_system::model::EffectAnnotation;

use crate::flow_to_system::secret_names;

/// The network, the tool that the step is, the MCP servers that its model may call, the secrets in its arguments, the keys
/// of its models, and the files that its prompt refers to. A step that reaches nothing outside the run needs no tool. A
/// kind that the catalogue does not have needs everything.
pub(crate) fn step_effects(node: &DocumentNode) -> EffectAnnotation {
    let kind = step_kind(&node.kind);
    let reaches_out =
        kind.is_none_or(|kind| kind.network || matches!(kind.effects, Effects::Reads | Effects::Writes));
    let mut tools = Vec::new();
    if reaches_out {
        tools.push(node.kind.clone());
    }
    let of_model = node.with.get("tools").and_then(Value::as_array).unwrap_or_default();
    let servers = of_model.iter().filter_map(|tool| tool.get("mcp")?.as_str());
    tools.extend(servers.map(|server| format!("mcp:{server}")));
    let mut secrets = BTreeSet::new();
    each_text(&Value::Object(node.with.clone()), &mut |text| secrets.extend(secret_names(text)));
    secrets.extend(models(node).filter_map(|model| {
        let text = |key: &str| model.get(key).and_then(Value::as_str);
        model_key(text("provider").unwrap_or_default(), text("endpoint"))
    }));
    let references = node.with.get("context_refs").and_then(Value::as_array).unwrap_or_default();
    let files: BTreeSet<String> = references.iter().filter_map(|text| file_read(text.as_str()?)).collect();
    EffectAnnotation {
        network: kind.is_none_or(|kind| kind.network),
        fs_read: files.into_iter().collect(),
        tools,
        secrets: secrets.into_iter().collect(),
        ..EffectAnnotation::default()
    }
}

/// The models that a step may ask, as its arguments name them.
fn models(node: &DocumentNode) -> impl Iterator<Item = &Value> {
    let fallback = node.with.get("fallback").and_then(|fallback| fallback.get("model"));
    node.with.get("model").into_iter().chain(fallback)
}

/// The secret that a provider's own endpoint needs.
pub(crate) fn model_key(provider: &str, endpoint: Option<&str>) -> Option<String> {
    (endpoint.is_none() && !provider.is_empty())
        .then(|| format!("{}_API_KEY", provider.to_uppercase().replace('-', "_")))
}

/// What a reference of a prompt reads from disk: the path as it is written, without lines, or the whole repository for a
/// difference.
pub(crate) fn file_read(reference: &str) -> Option<String> {
    match ContextRef::parse(reference) {
        ContextRef::File(path) => Some(FileSelection::parse(path).path.to_owned()),
        ContextRef::Diff(_) => Some("**".to_owned()),
        ContextRef::Memory(_) | ContextRef::Digest | ContextRef::Raw(_) => None,
    }
}

/// Every text in a value.
pub(crate) fn each_text(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Object(members) => members.values().for_each(|member| each_text(member, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
