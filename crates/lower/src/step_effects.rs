//! What a step of an exec document needs from its surroundings, for comparison with what a system declares.

use std::collections::BTreeSet;

use stave_canon::Value;
use stave_exec::DocumentNode;
use stave_operations::{Effects, step_kind};
use stave_system::model::EffectAnnotation;

use crate::flow_to_system::secret_names;

/// The network, the tool that the step is, the MCP servers that its model may call, and the secrets in its arguments. A
/// step that reaches nothing outside the run needs no tool. A kind that the catalogue does not have needs everything.
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
    EffectAnnotation {
        network: kind.is_none_or(|kind| kind.network),
        tools,
        secrets: secrets.into_iter().collect(),
        ..EffectAnnotation::default()
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
