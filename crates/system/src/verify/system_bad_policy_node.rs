//! A policy node lists actions that it allows and denies, in its metadata or among its properties; its
//! metadata holds nothing else.

use stave_canon::{Object, Pointer, Value};
use stave_diag::Code;

use super::Findings;
use crate::{NodeKind, codes};

/// What a broken rule is reported as.
pub(super) const CODE: Code = codes::SYSTEM_BAD_POLICY_NODE;

const ACTION_LISTS: [&str; 4] =
    ["runtime_allow_actions", "runtime_deny_actions", "allow_runtime_actions", "deny_runtime_actions"];

pub(super) fn check(findings: &mut Findings<'_>) {
    for (pointer, node) in findings.nodes() {
        if node.kind != NodeKind::Policy {
            continue;
        }
        let pointer = pointer.key("properties");
        let metadata = pointer.key("metadata");
        match node.properties.get("metadata") {
            None | Some(Value::Null) => {}
            Some(Value::Object(members)) => {
                for key in members.keys().filter(|key| !ACTION_LISTS.contains(&key.as_str())) {
                    findings.add(metadata.key(key), format!("{key:?} is not a list of actions of a policy"));
                }
                lists(findings, members, &metadata);
            }
            Some(_) => findings.add(metadata, "must be an object"),
        }
        lists(findings, &node.properties, &pointer);
    }
}

fn lists(findings: &mut Findings<'_>, members: &Object, pointer: &Pointer) {
    for key in ACTION_LISTS {
        let fine = match members.get(key) {
            None | Some(Value::Null) => true,
            Some(Value::Array(actions)) => actions.iter().all(|action| action.as_str().is_some()),
            Some(_) => false,
        };
        if !fine {
            findings.add(pointer.key(key), "must be an array of strings or null");
        }
    }
}
