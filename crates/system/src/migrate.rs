//! Version 1 to version 2. The two may hold the same, so what changes is the version, and with it the
//! fingerprint; everything that the older writers left loose is brought into canonical form, and told.

use std::collections::{HashMap, HashSet};

use stave_canon::{Object, Pointer, Value};

use crate::verify::{RuleViolation, verify};
use crate::{SystemDocument, SystemVersion, strip};

/// What a migration did, and what it could not do.
#[derive(Debug, Clone, PartialEq)]
pub struct Migration {
    pub document: SystemDocument,
    pub fingerprint_before: String,
    pub fingerprint_after: String,
    /// Where the document was not in canonical form, or of another version, and what was done.
    pub changes: Vec<MigrationChange>,
    /// What people have to cure themselves.
    pub open: Vec<RuleViolation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationChange {
    pub pointer: Pointer,
    pub what: String,
}

/// Brings a document to the current version.
#[must_use]
pub fn migrate(document: &SystemDocument) -> Migration {
    let root = Pointer::root();
    let mut changes = Vec::new();
    let mut note = |pointer: Pointer, what: String| changes.push(MigrationChange { pointer, what });
    let current = SystemVersion::default();
    if document.version != current {
        let (from, to) = (document.version, current);
        note(root.key("schema_version"), format!("{} became {}", from.schema_version(), to.schema_version()));
        note(root.key("format_version"), format!("{} became {}", from.format_version(), to.format_version()));
    }
    for (index, node) in document.nodes.iter().enumerate() {
        let pointer = root.key("nodes").index(index);
        for (key, text) in [("id", &node.id), ("tenant_id", &node.tenant_id), ("name", &node.name)] {
            if strip(text) != text {
                note(pointer.key(key), "the white space around it was taken away".to_owned());
            }
        }
        let mut canonical: Vec<&str> =
            node.depends_on.iter().map(|id| strip(id)).filter(|id| !id.is_empty()).collect();
        canonical.sort_unstable();
        canonical.dedup();
        if canonical != node.depends_on {
            note(pointer.key("depends_on"), "sorted, without blanks and repetitions".to_owned());
        }
    }
    let sorted = document.nodes.windows(2).all(|pair| match pair {
        [left, right] => strip(&left.id) <= strip(&right.id),
        _ => true,
    });
    if !sorted {
        note(root.key("nodes"), "sorted by id".to_owned());
    }
    let mut migrated = SystemDocument { version: current, ..document.clone() };
    // A document that was loaded keeps every rule, so its canonical form does too.
    if let Ok(canonical) = migrated.checked() {
        migrated = canonical;
    }
    Migration {
        fingerprint_before: document.fingerprint(),
        fingerprint_after: migrated.fingerprint(),
        open: verify(&migrated),
        document: migrated,
        changes,
    }
}

/// What a document's file says that its migrated form does not: members that the form does not know, at the document, at
/// its nodes and inside them. A member that is `null` says nothing.
#[must_use]
pub fn dropped(read: &Value, migrated: &SystemDocument) -> Vec<MigrationChange> {
    let written = migrated.to_value();
    let mut changes = Vec::new();
    let (Some(before), Some(after)) = (read.as_object(), written.as_object()) else { return changes };
    let list = |value: &Object| value.get("nodes").and_then(Value::as_array).map(<[Value]>::to_vec);
    let id = |node: &Value| node.get("id").and_then(Value::as_str).map(|id| strip(id).to_owned());
    members(before, after, &Pointer::root(), &mut changes);
    let after = list(after).unwrap_or_default();
    let by_id: HashMap<String, &Object> =
        after.iter().filter_map(|node| Some((id(node)?, node.as_object()?))).collect();
    for (index, node) in list(before).unwrap_or_default().iter().enumerate() {
        let pointer = Pointer::root().key("nodes").index(index);
        if let (Some(node), Some(kept)) = (node.as_object(), id(node).and_then(|id| by_id.get(&id).copied()))
        {
            members(node, kept, &pointer, &mut changes);
        }
    }
    changes
}

/// The members of an object that are gone, and those of the objects in it.
fn members(before: &Object, after: &Object, at: &Pointer, changes: &mut Vec<MigrationChange>) {
    for (key, value) in before {
        let pointer = at.key(key);
        match (value, after.get(key)) {
            // The nodes of the document have an order of their own.
            _ if key == "nodes" && at.as_str().is_empty() => {}
            (Value::Null, None) => {}
            (_, None) => {
                let what = format!("dropped: nothing here is called {key:?}");
                changes.push(MigrationChange { pointer, what });
            }
            (Value::Object(before), Some(Value::Object(after))) => members(before, after, &pointer, changes),
            (Value::Array(before), Some(Value::Array(after))) => items(before, after, &pointer, changes),
            _ => {}
        }
    }
}

/// The same for the objects of a list. The canonical form may have sorted them, so a member is gone when none has it.
fn items(before: &[Value], after: &[Value], at: &Pointer, changes: &mut Vec<MigrationChange>) {
    let known: HashSet<&String> = after.iter().filter_map(Value::as_object).flat_map(Object::keys).collect();
    for (index, item) in before.iter().enumerate() {
        for (key, value) in item.as_object().into_iter().flatten() {
            if !value.is_null() && !known.contains(key) {
                let pointer = at.index(index).key(key);
                changes.push(MigrationChange {
                    pointer,
                    what: format!("dropped: nothing here is called {key:?}"),
                });
            }
        }
    }
}
