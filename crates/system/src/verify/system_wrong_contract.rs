//! A workflow node carries a runtime contract, an intent node an acceptance contract.

use stave_diag::Code;

use super::Findings;
use crate::model::ContractCategory;
use crate::{NodeKind, codes};

/// What a broken rule is reported as.
pub(super) const CODE: Code = codes::SYSTEM_WRONG_CONTRACT;

pub(super) fn check(findings: &mut Findings<'_>) {
    for (pointer, node) in findings.nodes() {
        let wanted = match node.kind {
            NodeKind::Workflow => ContractCategory::Runtime,
            NodeKind::Intent => ContractCategory::Acceptance,
            _ => continue,
        };
        let (kind, wanted_word) = (node.kind.word(), wanted.word());
        match &node.contract {
            None => {
                findings.add(
                    pointer,
                    format!("{kind} node {:?} needs a contract of category {wanted_word}", node.id),
                );
            }
            Some(contract) if contract.contract_category != wanted => findings.add(
                pointer.key("contract").key("contract_category"),
                format!(
                    "{kind} node {:?} needs a contract of category {wanted_word}, not {}",
                    node.id,
                    contract.contract_category.word()
                ),
            ),
            Some(_) => {}
        }
    }
}
