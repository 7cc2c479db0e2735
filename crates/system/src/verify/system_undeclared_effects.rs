//! A node that is deployed says what it may touch, or what it promises.

use stave_diag::Code;

use super::Findings;
use crate::codes;

/// What a broken rule is reported as.
pub(super) const CODE: Code = codes::SYSTEM_UNDECLARED_EFFECTS;

pub(super) fn check(findings: &mut Findings<'_>) {
    for (pointer, node) in findings.nodes() {
        if node.kind.is_deployable() && node.effects.is_none() && node.contract.is_none() {
            let kind = node.kind.word();
            findings.add(pointer, format!("{kind} node {:?} has neither effects nor a contract", node.id));
        }
    }
}
