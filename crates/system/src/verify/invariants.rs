//! What every document keeps: rules that relate several of its parts. Loading refuses a document that
//! breaks one. Parts that could not be read are empty here and are passed over.
//!
//! What was read says whether a rule is broken. Items that could not be read are left out of it, so that the places of
//! faults are looked up in what is written.

use std::collections::HashSet;

use stave_canon::Pointer;
use stave_shape::{FaultKind, Place, Reader, ValueNode};

use crate::codec::{note, rule};
use crate::model::{ContractCategory, OperationalBudget, OperationalContract};
use crate::{SystemNode, codes, strip};

/// Up to this many names are compared with each other; more go into a set.
const FEW: usize = 8;

/// Node ids are unique, and all nodes share the document's tenant. `places` are the nodes' indices in the
/// document, which may have items that are no nodes.
pub(crate) fn document(tenant_id: &str, nodes: &[SystemNode], places: &[usize], reader: &mut Reader) {
    let tenant_id = strip(tenant_id);
    let root = Pointer::root().key("nodes");
    let mut seen = HashSet::with_capacity(nodes.len());
    for (node, place) in nodes.iter().zip(places) {
        let id = strip(&node.id);
        if !id.is_empty() && !seen.insert(id) {
            let pointer = root.index(*place).key("id");
            reader.fault(&Place::at(&pointer), None, twice("node id", id));
        }
    }
    for (node, place) in nodes.iter().zip(places) {
        let found = strip(&node.tenant_id);
        if is_stranger(found, tenant_id) {
            let message = format!("tenant {found:?} in a document of tenant {tenant_id:?}");
            let pointer = root.index(*place).key("tenant_id");
            note(reader, codes::SYSTEM_CROSS_TENANT, &pointer, message);
        }
    }
}

/// Provenance rows share their node's tenant, and only a runtime contract has a state machine.
pub(crate) fn node<N: ValueNode>(read: Option<&SystemNode>, node: N, at: &Place<'_>, reader: &mut Reader) {
    let Some(read) = read else { return };
    let tenant_id = strip(&read.tenant_id);
    if read.provenance.iter().any(|row| is_stranger(strip(&row.tenant_id), tenant_id)) {
        let rows = at.key("provenance");
        each_text(node.member("provenance"), "tenant_id", |index, found| {
            if is_stranger(found, tenant_id) {
                let message = format!("tenant {found:?} in a node of tenant {tenant_id:?}");
                let kind = rule(codes::SYSTEM_CROSS_TENANT, message);
                reader.fault(&rows.index(index).key("tenant_id"), None, kind);
            }
        });
    }
    if let Some(contract) = &read.contract
        && contract.contract_category != ContractCategory::Runtime
        && contract.state_machine.is_some()
    {
        let category = contract.contract_category.word();
        let message = format!("only a contract of category runtime may have a state machine, not {category}");
        let kind = rule(codes::SYSTEM_BROKEN_CONTRACT, message);
        reader.fault(&at.key("contract").key("state_machine"), None, kind);
    }
}

/// Trigger and transition ids are unique, and a transition's trigger is one of the contract's.
pub(crate) fn contract<N: ValueNode>(
    read: Option<&OperationalContract>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(contract) = read else { return };
    let triggers: Vec<&str> = contract.triggers.iter().map(|trigger| strip(&trigger.trigger_id)).collect();
    if repeats(&triggers) {
        repeated(node.member("triggers"), "trigger_id", "trigger id", &at.key("triggers"), reader);
    }
    let Some(machine) = &contract.state_machine else { return };
    let here = at.key("state_machine");
    let here = here.key("transitions");
    let transitions = || node.member("state_machine").and_then(|machine| machine.member("transitions"));
    let ids: Vec<&str> = machine.transitions.iter().map(|one| strip(&one.transition_id)).collect();
    if repeats(&ids) {
        repeated(transitions(), "transition_id", "transition id", &here, reader);
    }
    let declared: HashSet<&str> = triggers.into_iter().collect();
    let is_unknown = |trigger: &str| !trigger.is_empty() && !declared.contains(trigger);
    let named = machine.transitions.iter().filter_map(|one| one.trigger_id.as_deref());
    if named.into_iter().any(is_unknown) {
        each_text(transitions(), "trigger_id", |index, trigger| {
            if is_unknown(trigger) {
                let message = format!("{trigger:?} is not a trigger of this contract");
                let kind = rule(codes::SYSTEM_BROKEN_CONTRACT, message);
                reader.fault(&here.index(index).key("trigger_id"), None, kind);
            }
        });
    }
}

/// A budget sets a bound.
pub(crate) fn budget<N: ValueNode>(
    _: Option<&OperationalBudget>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let is_set =
        |key: &str| node.member(key).is_some_and(|bound| bound.kind() != stave_shape::ValueKind::Null);
    if !["max_seconds", "max_steps", "max_tokens"].into_iter().any(is_set) {
        let message = "must set at least one of max_seconds, max_steps, max_tokens";
        reader.fault(at, node.span(), rule(codes::SYSTEM_BROKEN_CONTRACT, message));
    }
}

fn is_stranger(found: &str, tenant_id: &str) -> bool {
    found != tenant_id && !found.is_empty() && !tenant_id.is_empty()
}

/// Whether a name that is not empty occurs twice.
fn repeats(names: &[&str]) -> bool {
    if names.len() > FEW {
        let mut seen = HashSet::with_capacity(names.len());
        return names.iter().any(|name| !name.is_empty() && !seen.insert(*name));
    }
    names
        .iter()
        .enumerate()
        .any(|(index, name)| !name.is_empty() && names.iter().take(index).any(|other| other == name))
}

/// The text at a key of each item that has one, without the white space around it.
fn each_text<N: ValueNode>(items: Option<N>, key: &str, mut visit: impl FnMut(usize, &str)) {
    let Some(items) = items else { return };
    let mut index = 0;
    items.items(|item| {
        let text = item.member(key);
        if let Some(text) = text.as_ref().and_then(ValueNode::text) {
            visit(index, strip(text));
        }
        index += 1;
    });
}

fn repeated<N: ValueNode>(items: Option<N>, key: &str, what: &str, at: &Place<'_>, reader: &mut Reader) {
    let mut seen = HashSet::new();
    each_text(items, key, |index, name| {
        if !name.is_empty() && !seen.insert(name.to_owned()) {
            reader.fault(&at.index(index).key(key), None, twice(what, name));
        }
    });
}

fn twice(what: &str, name: &str) -> FaultKind {
    rule(codes::SYSTEM_DUPLICATE_ID, format!("{what} {name:?} is used twice"))
}
