//! Version 1 to version 2. The two may hold the same, so what changes is the version, and with it the
//! fingerprint; everything that the older writers left loose is brought into canonical form, and told.

use stave_canon::Pointer;

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
