//! Which nodes of a document a bundle refers to.

use std::collections::{BTreeMap, BTreeSet};

use stave_canon::Value;

use crate::{NodeKind, SystemDocument, SystemNode, strip};

/// The nodes that the orchestration's steps name, everything they depend on, and every knowledge node, in
/// order of their ids. Where no step names a node, the nodes with contracts begin, else the workflow nodes,
/// else all.
pub(super) fn select<'d>(document: &'d SystemDocument, orchestration: &Value) -> Vec<&'d SystemNode> {
    let by_id: BTreeMap<&str, &SystemNode> =
        document.nodes.iter().map(|node| (strip(&node.id), node)).collect();
    let named = named(orchestration);
    let mut waiting: Vec<&str> =
        if named.is_empty() { unnamed(document) } else { named.into_iter().collect() };
    let hubs = document.nodes.iter().filter(|node| node.kind == NodeKind::Knowledge);
    let hubs: Vec<&str> = hubs.map(|node| strip(&node.id)).collect();
    let mut selected: BTreeSet<&str> = hubs.into_iter().collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let Some((id, node)) = by_id.get_key_value(id) else { continue };
        if seen.insert(id) {
            selected.insert(id);
            waiting.extend(node.depends_on.iter().map(|id| strip(id)));
        }
    }
    selected.into_iter().filter_map(|id| by_id.get(id).copied()).collect()
}

/// The node ids that the orchestration's steps name.
fn named(orchestration: &Value) -> BTreeSet<&str> {
    let steps = orchestration.get("steps").and_then(Value::as_array).unwrap_or_default();
    steps.iter().filter_map(step_node).collect()
}

/// The node a step runs: named by its inputs, else by the step itself.
pub(super) fn step_node<'v>(step: &'v Value) -> Option<&'v str> {
    let named = |holder: &'v Value| {
        holder.get("ir_node_id").and_then(Value::as_str).map(strip).filter(|id| !id.is_empty())
    };
    step.get("inputs").and_then(named).or_else(|| named(step))
}

fn unnamed(document: &SystemDocument) -> Vec<&str> {
    let ids = |wanted: &dyn Fn(&SystemNode) -> bool| -> Vec<&str> {
        document.nodes.iter().filter(|node| wanted(node)).map(|node| strip(&node.id)).collect()
    };
    let with_contracts = ids(&|node| node.contract.is_some());
    if !with_contracts.is_empty() {
        return with_contracts;
    }
    let workflows = ids(&|node| node.kind == NodeKind::Workflow);
    if workflows.is_empty() { ids(&|_| true) } else { workflows }
}
