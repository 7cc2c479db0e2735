//! What the bundle repeats of the document is what the document says: every node with all of its content,
//! the contracts, the inline document, and the selection itself.

use std::collections::{BTreeMap, BTreeSet};

use stave_canon::{Pointer, Value};

use super::{Issues, select, text};
use crate::bundle::emit::contracts;
use crate::{SystemDocument, SystemNode, codes, stable_json_fingerprint, strip};

pub(super) fn check(issues: &mut Issues<'_>) {
    let referenced = nodes(issues);
    contracts_match(issues, &referenced);
    inline(issues);
    if let Some(orchestration) = issues.subject.orchestration {
        selection(issues, orchestration, &referenced);
    }
}

/// Compares every referenced node with the document's; gives those that the document has.
fn nodes<'s>(issues: &mut Issues<'s>) -> Vec<&'s SystemNode> {
    let by_id: BTreeMap<&str, &SystemNode> =
        issues.subject.document.nodes.iter().map(|node| (strip(&node.id), node)).collect();
    let pointer = Pointer::root().key("referenced_ir_nodes");
    if issues.member("referenced_ir_nodes").and_then(Value::as_array).is_none() {
        issues.add(codes::BUNDLE_BAD_SHAPE, pointer.clone(), "`referenced_ir_nodes` is missing or no array");
    }
    let mut seen = BTreeSet::new();
    let mut referenced = Vec::new();
    for (index, item) in issues.items("referenced_ir_nodes").iter().enumerate() {
        let pointer = pointer.index(index);
        let Some(id) = text(item, "id") else {
            issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer, "is not a node");
            continue;
        };
        let Some(node) = by_id.get(id) else {
            let message = format!("node {id:?} is not in the document");
            issues.add(codes::BUNDLE_UNKNOWN_REFERENCE, pointer.key("id"), message);
            continue;
        };
        if !seen.insert(id) {
            issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer.key("id"), format!("node {id:?} is there twice"));
            continue;
        }
        if stable_json_fingerprint(item) != node.fingerprint() {
            let message = format!("node {id:?} is not as the document has it");
            issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer, message);
        }
        referenced.push(*node);
    }
    referenced
}

fn contracts_match(issues: &mut Issues<'_>, referenced: &[&SystemNode]) {
    let pointer = Pointer::root().key("referenced_contracts");
    let found = issues.items("referenced_contracts");
    let wanted = contracts(referenced);
    if found.len() != wanted.len() {
        let message = format!("{} contracts, the referenced nodes have {}", found.len(), wanted.len());
        issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer, message);
        return;
    }
    for (index, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        if stable_json_fingerprint(found) != stable_json_fingerprint(wanted) {
            let id = text(wanted, "contract_id").unwrap_or_default();
            let message = format!("is not the contract {id:?} as the document has it");
            issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer.index(index), message);
        }
    }
}

fn inline(issues: &mut Issues<'_>) {
    let root = Pointer::root();
    let inline = issues.member("system_ir").filter(|part| !part.is_null());
    let embeds = issues.member("embed_system_ir").and_then(Value::as_bool) == Some(true);
    let Some(inline) = inline else {
        if embeds {
            let message = "says that the document is inline, and it is not";
            issues.add(codes::BUNDLE_CONTENT_DRIFT, root.key("embed_system_ir"), message);
        }
        return;
    };
    let pointer = root.key("system_ir");
    match SystemDocument::from_value(inline) {
        Err(_) => issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer, "is not a system document"),
        Ok(found) if found.fingerprint() != issues.subject.document.fingerprint() => {
            issues.add(
                codes::BUNDLE_CONTENT_DRIFT,
                pointer,
                "is not the document that the bundle was made from",
            );
        }
        Ok(_) => {}
    }
}

fn selection(issues: &mut Issues<'_>, orchestration: &Value, referenced: &[&SystemNode]) {
    let found: BTreeSet<&str> = referenced.iter().map(|node| strip(&node.id)).collect();
    let wanted = select::select(issues.subject.document, orchestration);
    let wanted: BTreeSet<&str> = wanted.into_iter().map(|node| strip(&node.id)).collect();
    let pointer = Pointer::root().key("referenced_ir_nodes");
    for id in wanted.difference(&found) {
        let message = format!("node {id:?} is missing, and a step depends on it");
        issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer.clone(), message);
    }
    for id in found.difference(&wanted) {
        let message = format!("node {id:?} is there, and no step depends on it");
        issues.add(codes::BUNDLE_CONTENT_DRIFT, pointer.clone(), message);
    }
}
