//! Deployment intents are the deployable referenced nodes: a row for each, no other, and everything that a
//! row repeats of its node as the node has it.

use std::collections::{BTreeMap, BTreeSet};

use stave_canon::{Pointer, Value};

use super::{Issue, Issues, text};
use crate::policy::Check;
use crate::{NodeKind, codes, strip};

impl Issues<'_> {
    fn misaligned(&mut self, pointer: Pointer, message: impl Into<String>) {
        let code = codes::BUNDLE_MISALIGNED_DEPLOYMENT;
        self.found.push(Issue { code, check: Check::IntentAlignment, pointer, message: message.into() });
    }
}

pub(super) fn check(issues: &mut Issues<'_>) {
    let pointer = Pointer::root().key("deployment_intents");
    let nodes: BTreeMap<&str, &Value> = issues
        .items("referenced_ir_nodes")
        .iter()
        .filter_map(|node| Some((text(node, "id")?, node)))
        .collect();
    let mut seen = BTreeSet::new();
    for (index, row) in issues.items("deployment_intents").iter().enumerate() {
        let pointer = pointer.index(index);
        if row.as_object().is_none() {
            issues.misaligned(pointer, "must be an object");
            continue;
        }
        let Some(id) = text(row, "node_id").filter(|id| !id.is_empty()) else {
            issues.misaligned(pointer, "`node_id` must be a string that is not blank");
            continue;
        };
        if !seen.insert(id) {
            issues.misaligned(pointer.key("node_id"), format!("node {id:?} has two rows"));
            continue;
        }
        match nodes.get(id) {
            None => issues.misaligned(pointer.key("node_id"), format!("node {id:?} is not referenced")),
            Some(node) if !is_deployable(node) => {
                issues.misaligned(pointer.key("node_id"), format!("node {id:?} is nothing that is deployed"));
            }
            Some(node) => drift(issues, row, node, &pointer),
        }
    }
    for (id, _) in nodes.iter().filter(|(id, node)| is_deployable(node) && !seen.contains(**id)) {
        issues.misaligned(pointer.clone(), format!("deployable node {id:?} has no row"));
    }
}

fn is_deployable(node: &Value) -> bool {
    let kind = text(node, "kind").unwrap_or_default();
    NodeKind::ALL.iter().any(|known| known.word() == kind && known.is_deployable())
}

/// What a row repeats of its node.
fn drift(issues: &mut Issues<'_>, row: &Value, node: &Value, pointer: &Pointer) {
    let member = |key: &str| node.get(key).cloned().unwrap_or_default();
    let contract_id = node.get("contract").and_then(|contract| contract.get("contract_id")).cloned();
    let wanted = [
        ("kind", member("kind")),
        ("name", member("name")),
        ("depends_on", ids(&member("depends_on"))),
        ("effects", member("effects")),
        ("contract_id", contract_id.unwrap_or_default()),
    ];
    for (key, wanted) in wanted {
        let found = row.get(key).cloned();
        let found = match (key, found) {
            ("depends_on", found) => found.map(|found| ids(&found)),
            ("name" | "contract_id", Some(Value::String(found))) => Some(strip(&found).into()),
            (_, found) => found,
        };
        if found.as_ref() != Some(&wanted) {
            let id = text(node, "id").unwrap_or_default();
            issues.misaligned(
                pointer.key(key),
                format!("`{key}` of {id:?} is not {wanted}, as the node has it"),
            );
        }
    }
}

/// A list of ids as a set.
fn ids(value: &Value) -> Value {
    let Some(items) = value.as_array() else { return value.clone() };
    let ids: BTreeSet<&str> =
        items.iter().filter_map(Value::as_str).map(strip).filter(|id| !id.is_empty()).collect();
    ids.into_iter().collect::<Vec<_>>().into()
}
