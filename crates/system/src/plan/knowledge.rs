//! The knowledge hub and the constraints and decisions that hang on it.

use std::collections::BTreeMap;

use stave_canon::{Object, Value};

use super::{Plan, filled, items, string_set};
use crate::knowledge::{self, Assertion};
use crate::model::ProvenancePointer;
use crate::{SystemNode, strip};

/// The hub, when any step knows anything.
pub(super) fn hub(plan: &Plan, intent: Option<&str>) -> Option<SystemNode> {
    let last = |key: &str| {
        let texts = plan.steps().rev().find_map(|step| filled(&step.outputs, key));
        texts.map(str::to_lowercase)
    };
    let (semantic, provenance) =
        (last("knowledge_semantic_fingerprint"), last("knowledge_provenance_fingerprint"));
    let constraints = plan.steps().flat_map(|step| snapshot_items(&step.outputs, "canonical_constraints"));
    let assertion_ids = string_set(constraints.filter_map(|constraint| constraint.get("assertion_id")));
    if semantic.is_none() && provenance.is_none() && assertion_ids.is_empty() {
        return None;
    }
    let hub = knowledge::Hub { assertion_ids, semantic, provenance, snapshot_path: None };
    knowledge::hub(&plan.tenant_id, &plan.id, intent, &hub)
}

/// The entities of every step's snapshot. What several steps say about one assertion is one node with all
/// of their evidence; where they disagree, the last step has the word.
pub(super) fn entities(plan: &Plan, hub: &str) -> Vec<SystemNode> {
    let mut nodes: BTreeMap<String, SystemNode> = BTreeMap::new();
    for step in plan.steps() {
        let evidence: BTreeMap<&str, &Value> = snapshot_items(&step.outputs, "evidence_by_assertion")
            .iter()
            .filter_map(|row| Some((filled(row, "assertion_id")?, row.get("evidence")?)))
            .collect();
        for (kind, key) in
            [(Assertion::Constraint, "canonical_constraints"), (Assertion::Decision, "canonical_decisions")]
        {
            for item in snapshot_items(&step.outputs, key) {
                let Some(assertion_id) = filled(item, "assertion_id") else { continue };
                let evidence = evidence.get(assertion_id).copied().unwrap_or(&Value::Null);
                let properties = properties(kind, item, evidence);
                let provenance = provenance(plan, evidence);
                let Some(node) = knowledge::entity(
                    &plan.tenant_id,
                    &plan.id,
                    hub,
                    kind,
                    assertion_id,
                    properties,
                    provenance,
                ) else {
                    continue;
                };
                match nodes.get_mut(&node.id) {
                    None => {
                        nodes.insert(node.id.clone(), node);
                    }
                    Some(known) => merge(known, node),
                }
            }
        }
    }
    nodes.into_values().collect()
}

fn snapshot_items<'v>(outputs: &'v Value, key: &str) -> &'v [Value] {
    outputs.get("knowledge_snapshot").map(|snapshot| items(snapshot, key)).unwrap_or_default()
}

fn properties(kind: Assertion, item: &Value, evidence: &Value) -> Object {
    let value = |key: &str| item.get(key).cloned().unwrap_or_default();
    let flag = |key: &str| Value::from(item.get(key).and_then(Value::as_bool).unwrap_or(false));
    let members: Vec<(&str, Value)> = match kind {
        Assertion::Constraint => {
            let keys = [
                "subject",
                "predicate",
                "object",
                "polarity",
                "scope",
                "kind",
                "summary",
                "semantic_fingerprint",
            ];
            let evidence_ids = string_set(items(evidence, "evidence_doc_ids"));
            keys.iter()
                .map(|key| (*key, value(key)))
                .chain([("evidence_doc_ids", evidence_ids.into())])
                .collect()
        }
        Assertion::Decision => {
            let targets = "conflict_resolution_target_assertion_ids";
            vec![
                ("selected", flag("selected")),
                ("resolved", flag("resolved")),
                (targets, item.get(targets).cloned().unwrap_or_else(|| Value::Array(Vec::new()))),
                ("evidence_doc_ids", string_set(items(item, "evidence_doc_ids")).into()),
            ]
        }
    };
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Only rows of the plan's tenant: evidence is resolved across tenants and must not leak here.
fn provenance(plan: &Plan, evidence: &Value) -> Vec<ProvenancePointer> {
    let rows = items(evidence, "resolved_provenance_pointers").iter();
    let rows = rows.filter_map(|row| ProvenancePointer::from_value(row).ok());
    rows.filter(|row| strip(&row.tenant_id) == plan.tenant_id).collect()
}

fn merge(known: &mut SystemNode, other: SystemNode) {
    const EVIDENCE: &str = "evidence_doc_ids";
    let lists = [&known.properties, &other.properties];
    let evidence: Vec<Value> = lists
        .into_iter()
        .filter_map(|properties| properties.get(EVIDENCE).and_then(Value::as_array))
        .flat_map(|ids| ids.iter().cloned())
        .collect();
    known.properties.extend(other.properties);
    known.properties.insert(EVIDENCE.to_owned(), string_set(&evidence).into());
    for row in other.provenance {
        if !known.provenance.contains(&row) {
            known.provenance.push(row);
        }
    }
}
