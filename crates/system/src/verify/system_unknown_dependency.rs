//! A dependency names another node of the document. White space around the dependency does not count, as for the
//! specification's loader; the id of a node is compared as written.

use std::collections::HashSet;

use stave_diag::Code;

use super::Findings;
use crate::{codes, strip};

/// What a broken rule is reported as.
pub(super) const CODE: Code = codes::SYSTEM_UNKNOWN_DEPENDENCY;

pub(super) fn check(findings: &mut Findings<'_>) {
    let ids: HashSet<&str> = findings.document.nodes.iter().map(|node| node.id.as_str()).collect();
    for (pointer, node) in findings.nodes() {
        for (index, dependency) in node.depends_on.iter().enumerate() {
            let message = if strip(dependency).is_empty() {
                format!("node {:?} has a blank dependency", node.id)
            } else if strip(dependency) == node.id {
                format!("node {:?} depends on itself", node.id)
            } else if !ids.contains(strip(dependency)) {
                format!("node {:?} depends on {dependency:?}, which is not in the document", node.id)
            } else {
                continue;
            };
            findings.add(pointer.key("depends_on").index(index), message);
        }
    }
}
