//! Which nodes differ between two documents of one scope.

use std::collections::BTreeMap;

use stave_canon::{Pointer, Value};
use thiserror::Error;

use crate::codec::node_value;
use crate::{SystemDocument, SystemNode, strip};

/// Node ids by what happened to them, each list sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeChanges {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
}

/// Documents of different tenants or repositories have nothing to do with each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the documents differ in {field}: {before:?} and {after:?}")]
pub struct ScopeMismatch {
    pub field: &'static str,
    pub before: String,
    pub after: String,
}

/// Compares nodes by their fingerprints. The documents' versions do not matter.
pub fn diff(before: &SystemDocument, after: &SystemDocument) -> Result<NodeChanges, ScopeMismatch> {
    for (field, left, right) in
        [("tenant_id", &before.tenant_id, &after.tenant_id), ("repo_id", &before.repo_id, &after.repo_id)]
    {
        if strip(left) != strip(right) {
            return Err(ScopeMismatch { field, before: left.clone(), after: right.clone() });
        }
    }
    let (before, after) = (fingerprints(before), fingerprints(after));
    let without = |left: &BTreeMap<&str, String>, right: &BTreeMap<&str, String>| -> Vec<String> {
        left.keys().filter(|id| !right.contains_key(*id)).map(|id| (*id).to_owned()).collect()
    };
    let changed =
        before.iter().filter(|(id, fingerprint)| after.get(*id).is_some_and(|other| other != *fingerprint));
    Ok(NodeChanges {
        added: without(&after, &before),
        removed: without(&before, &after),
        changed: changed.map(|(id, _)| (*id).to_owned()).collect(),
    })
}

fn fingerprints(document: &SystemDocument) -> BTreeMap<&str, String> {
    document.nodes.iter().map(|node| (strip(&node.id), node.fingerprint())).collect()
}

/// Where the canonical forms of two nodes differ, in the order of the first and then of what the second
/// adds. Containers of the same kind are compared inside.
#[must_use]
pub fn members(before: &SystemNode, after: &SystemNode) -> Vec<Pointer> {
    changed_members(&node_value(before), &node_value(after))
}

/// Where two JSON values differ, in the same order.
#[must_use]
pub fn changed_members(before: &Value, after: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    compare(before, after, &Pointer::root(), &mut found);
    found
}

fn compare(before: &Value, after: &Value, pointer: &Pointer, found: &mut Vec<Pointer>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
            for key in keys {
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => compare(before, after, &pointer.key(key), found),
                    _ => found.push(pointer.key(key)),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                compare(before, after, &pointer.index(index), found);
            }
        }
        _ if before == after => {}
        _ => found.push(pointer.clone()),
    }
}
