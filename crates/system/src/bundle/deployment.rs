//! Deployment intents: one row for each selected node that a deployment brings up.

use stave_canon::{Object, Value};

use crate::codec::node_value;
use crate::{SystemNode, stable_json_fingerprint, strip};

/// The part of a row that follows from the node alone. Alignment compares it member by member.
pub(super) fn projection(node: &SystemNode) -> Object {
    let canonical = node_value(node);
    let member = |key: &str| canonical.get(key).cloned().unwrap_or_default();
    let contract_id = node.contract.as_ref().map(|contract| strip(&contract.contract_id).to_owned());
    [
        ("node_id", strip(&node.id).into()),
        ("kind", node.kind.word().into()),
        ("name", node.name.as_str().into()),
        ("depends_on", member("depends_on")),
        ("effects", member("effects")),
        ("contract_id", contract_id.into()),
    ]
    .into_iter()
    .map(|(key, value): (&str, Value)| (key.to_owned(), value))
    .collect()
}

/// The rows of the selected nodes, with what the delivery plan adds to each.
pub(super) fn rows(selected: &[&SystemNode], delivery_plan: Option<&Value>) -> Vec<Value> {
    let deployable = selected.iter().filter(|node| node.kind.is_deployable());
    deployable.map(|node| row(node, delivery_plan)).collect()
}

fn row(node: &SystemNode, delivery_plan: Option<&Value>) -> Value {
    let targets = delivery_plan.and_then(|plan| plan.get("targets")).and_then(Value::as_array);
    let target = targets.unwrap_or_default().iter().find(|target| {
        let id = target.get("target_id").or_else(|| target.get("node_id")).and_then(Value::as_str);
        id.map(strip) == Some(strip(&node.id))
    });
    let part = |key: &str| target.and_then(|target| target.get(key));
    let paths = part("supported_delivery_paths").filter(|paths| paths.as_object().is_some());
    let environments = match paths.and_then(Value::as_object) {
        Some(paths) => {
            let mut names: Vec<&str> = paths.keys().map(String::as_str).collect();
            names.sort_unstable();
            names
        }
        None => vec!["local", "staging", "production"],
    };
    let local: Value = [("local", vec!["direct_apply"])].into_iter().collect();
    let mut row = projection(node);
    let target_class = part("target_class").and_then(Value::as_str).unwrap_or("unknown");
    row.insert("target_class".into(), target_class.into());
    row.insert("environment_support".into(), environments.into());
    row.insert("delivery_paths".into(), paths.cloned().unwrap_or(local));
    let profile = target.map(stable_json_fingerprint);
    row.insert("operational_profile_fingerprint".into(), profile.into());
    Value::Object(row)
}
