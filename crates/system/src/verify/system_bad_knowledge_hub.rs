//! There is at most one knowledge node. The first by id must say where its snapshot lies and what it
//! knows: a fingerprint or an assertion.

use stave_canon::{Object, Pointer, Value};
use stave_diag::Code;

use super::Findings;
use crate::{NodeKind, codes, strip};

/// What a broken rule is reported as.
pub(super) const CODE: Code = codes::SYSTEM_BAD_KNOWLEDGE_HUB;

const SNAPSHOT: &str = "persisted_snapshot_relpath";
const ASSERTIONS: &str = "knowledge_assertion_ids";
const FINGERPRINTS: [&str; 2] = ["knowledge_semantic_fingerprint_16", "knowledge_provenance_fingerprint_16"];

pub(super) fn check(findings: &mut Findings<'_>) {
    let mut hubs: Vec<_> = findings.nodes().filter(|(_, node)| node.kind == NodeKind::Knowledge).collect();
    hubs.sort_by_key(|(_, node)| strip(&node.id));
    let Some((pointer, hub)) = hubs.first() else { return };
    for (pointer, other) in hubs.iter().skip(1) {
        findings
            .add(pointer.clone(), format!("{:?} is a second knowledge node beside {:?}", other.id, hub.id));
    }
    let pointer = pointer.key("properties");
    snapshot(findings, &hub.properties, &pointer);
    for key in FINGERPRINTS {
        if !matches!(hub.properties.get(key), None | Some(Value::Null | Value::String(_))) {
            findings.add(pointer.key(key), "must be a string or null");
        }
    }
    assertions(findings, &hub.properties, &pointer);
    if !says_something(&hub.properties) {
        findings
            .add(pointer, format!("knowledge node {:?} has neither a fingerprint nor an assertion", hub.id));
    }
}

fn snapshot(findings: &mut Findings<'_>, properties: &Object, pointer: &Pointer) {
    match properties.get(SNAPSHOT) {
        None => findings.add(pointer.clone(), format!("`{SNAPSHOT}` is missing")),
        Some(value) if is_filled(value) => {}
        Some(_) => findings.add(pointer.key(SNAPSHOT), "must be a string that is not blank"),
    }
}

fn assertions(findings: &mut Findings<'_>, properties: &Object, pointer: &Pointer) {
    match properties.get(ASSERTIONS) {
        None | Some(Value::Null) => {}
        Some(Value::Array(ids)) => {
            for (index, _) in ids.iter().enumerate().filter(|(_, id)| id.as_str().is_none()) {
                findings.add(pointer.key(ASSERTIONS).index(index), "must be a string");
            }
        }
        Some(_) => findings.add(pointer.key(ASSERTIONS), "must be an array of strings"),
    }
}

fn says_something(properties: &Object) -> bool {
    let fingerprint = FINGERPRINTS.iter().any(|key| properties.get(*key).is_some_and(is_filled));
    let assertions = properties.get(ASSERTIONS).and_then(Value::as_array).unwrap_or_default();
    fingerprint || assertions.iter().any(is_filled)
}

fn is_filled(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !strip(text).is_empty())
}
