//! What every document keeps: rules that relate several of its parts. Loading refuses a document that
//! breaks one. Parts that could not be read are empty here and are passed over.

use std::collections::HashSet;

use stave_canon::Pointer;

use crate::model::{ContractCategory, OperationalContract};
use crate::{Fault, Node, codes, strip};

/// Node ids are unique, and all nodes share the document's tenant. `places` are the nodes' indices in the
/// document, which may have items that are no nodes.
pub(crate) fn document(tenant_id: &str, nodes: &[Node], places: &[usize]) -> Vec<Fault> {
    let tenant_id = strip(tenant_id);
    let root = Pointer::root().key("nodes");
    let mut seen = HashSet::with_capacity(nodes.len());
    let mut faults = Vec::new();
    for (node, place) in nodes.iter().zip(places) {
        let id = strip(&node.id);
        if !id.is_empty() && !seen.insert(id) {
            faults.push(twice(root.index(*place).key("id"), "node id", id));
        }
    }
    for (node, place) in nodes.iter().zip(places) {
        let found = strip(&node.tenant_id);
        if found != tenant_id && !found.is_empty() && !tenant_id.is_empty() {
            let message = format!("tenant {found:?} in a document of tenant {tenant_id:?}");
            let pointer = root.index(*place).key("tenant_id");
            faults.push(Fault { code: codes::SYSTEM_CROSS_TENANT, pointer, message });
        }
    }
    faults
}

/// Provenance rows share their node's tenant, and only a runtime contract has a state machine.
pub(crate) fn node(node: &Node, pointer: &Pointer) -> Vec<Fault> {
    let tenant_id = strip(&node.tenant_id);
    let rows = node.provenance.iter().enumerate();
    let strangers = rows.filter(|(_, row)| {
        let found = strip(&row.tenant_id);
        found != tenant_id && !found.is_empty() && !tenant_id.is_empty()
    });
    let strangers = strangers.map(|(index, row)| Fault {
        code: codes::SYSTEM_CROSS_TENANT,
        pointer: pointer.key("provenance").index(index).key("tenant_id"),
        message: format!("tenant {:?} in a node of tenant {tenant_id:?}", row.tenant_id),
    });
    let mut faults: Vec<Fault> = strangers.collect();
    if let Some(contract) = &node.contract
        && contract.contract_category != ContractCategory::Runtime
        && contract.state_machine.is_some()
    {
        let category = contract.contract_category.word();
        faults.push(Fault {
            code: codes::SYSTEM_BROKEN_CONTRACT,
            pointer: pointer.key("contract").key("state_machine"),
            message: format!("only a contract of category runtime may have a state machine, not {category}"),
        });
    }
    faults
}

/// Trigger and transition ids are unique, and a transition's trigger is one of the contract's.
pub(crate) fn contract(contract: &OperationalContract, pointer: &Pointer) -> Vec<Fault> {
    let declared: HashSet<&str> =
        contract.triggers.iter().map(|trigger| strip(&trigger.trigger_id)).collect();
    let triggers = contract.triggers.iter().enumerate().map(|(index, trigger)| {
        (pointer.key("triggers").index(index).key("trigger_id"), strip(&trigger.trigger_id))
    });
    let mut faults = repeated("trigger id", triggers);
    let Some(machine) = &contract.state_machine else { return faults };
    let here = pointer.key("state_machine").key("transitions");
    let transitions = machine.transitions.iter().enumerate().map(|(index, transition)| {
        (here.index(index).key("transition_id"), strip(&transition.transition_id))
    });
    faults.extend(repeated("transition id", transitions));
    for (index, transition) in machine.transitions.iter().enumerate() {
        let Some(trigger) = transition.trigger_id.as_deref().map(strip) else { continue };
        if !declared.contains(trigger) {
            let message = format!("{trigger:?} is not a trigger of this contract");
            let pointer = here.index(index).key("trigger_id");
            faults.push(Fault { code: codes::SYSTEM_BROKEN_CONTRACT, pointer, message });
        }
    }
    faults
}

fn repeated<'n>(what: &str, names: impl Iterator<Item = (Pointer, &'n str)>) -> Vec<Fault> {
    let mut seen = HashSet::new();
    let repeated = names.filter(|(_, name)| !name.is_empty() && !seen.insert(*name));
    repeated.map(|(pointer, name)| twice(pointer, what, name)).collect()
}

fn twice(pointer: Pointer, what: &str, name: &str) -> Fault {
    Fault { code: codes::SYSTEM_DUPLICATE_ID, pointer, message: format!("{what} {name:?} is used twice") }
}
