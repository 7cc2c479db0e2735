//! Policies from data: a list as the specification has it, or an object with a mode.

use std::fmt;

use stave_canon::{Pointer, Value};
use stave_shape::{Definitions, Place, Reader, Shape, ValueKind, ValueNode};
use thiserror::Error;

use super::form::{Base, PolicySetForm};
use super::policy::Policy;
use super::{MatchMode, PolicySet};
use crate::fault_text::listed;

/// How much text all lists of a set may have together.
const TEXT_BYTES: usize = 1 << 20;

/// One thing wrong with a set of policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFault {
    pub pointer: Pointer,
    pub message: String,
}

/// A set of policies that cannot be used, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct InvalidPolicies {
    pub faults: Vec<PolicyFault>,
}

/// Reads a set. `null` means the specification's policies as specified; a list, these policies as
/// specified; an object may set the mode, extend the default policies and allow phrases.
pub(super) fn read(value: &Value) -> Result<PolicySet, InvalidPolicies> {
    if value.is_null() {
        return Ok(PolicySet::default());
    }
    // Before anything is prepared for matching, which takes many times as long.
    if text_bytes(value) > TEXT_BYTES {
        let message = format!("the texts of all policies are longer than {TEXT_BYTES} bytes");
        return Err(InvalidPolicies { faults: vec![PolicyFault { pointer: Pointer::root(), message }] });
    }
    let mut reader = Reader::new();
    // The specification's own form ignores keys that mean nothing.
    reader.closed = value.as_object().is_some();
    let source = PolicySource::read(value, &Place::root(), &mut reader);
    let faults = reader.finish();
    match source {
        Some(source) if faults.is_empty() => Ok(source.set()),
        _ => {
            let fault = |fault: stave_shape::Fault| PolicyFault {
                message: fault.kind.explained(),
                pointer: fault.pointer,
            };
            Err(InvalidPolicies { faults: faults.into_iter().map(fault).collect() })
        }
    }
}

/// The form that [`read`] reads back: a list if that says it all.
pub(super) fn write(set: &PolicySet) -> Value {
    let (mode, allow, policies) = (set.mode, set.allow.clone(), set.policies.to_vec());
    if mode == MatchMode::Specified && allow.is_empty() {
        return PolicySource::List(policies).write();
    }
    PolicySource::Set(PolicySetForm { mode, extends: None, allow, policies: Some(policies) }).write()
}

/// The JSON Schema of a file with policies.
#[must_use]
pub fn schema() -> Value {
    stave_shape::document::<PolicySource>("urn:stave:policy:1.0", "Policies of prompts")
}

/// The two forms of a set.
#[derive(Debug)]
enum PolicySource {
    Set(PolicySetForm),
    List(Vec<Policy>),
}

impl Shape for PolicySource {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        match node.kind() {
            ValueKind::Object => PolicySetForm::read(node, at, reader).map(PolicySource::Set),
            ValueKind::Array => Vec::read(node, at, reader).map(PolicySource::List),
            _ => {
                reader.wrong_type(node, at, "an array of policies or an object");
                None
            }
        }
    }

    fn write(&self) -> Value {
        match self {
            PolicySource::Set(set) => set.write(),
            PolicySource::List(policies) => policies.write(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let choices = vec![PolicySetForm::schema(definitions), Vec::<Policy>::schema(definitions)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

impl PolicySource {
    fn set(self) -> PolicySet {
        let form = match self {
            PolicySource::List(policies) => return PolicySet::new(policies),
            PolicySource::Set(form) => form,
        };
        let base = match form.mode {
            MatchMode::Strict => PolicySet::strict(),
            MatchMode::Specified => PolicySet::default(),
        };
        let policies = match (form.policies, form.extends) {
            (None, _) => base.policies().to_vec(),
            (Some(own), None) => own,
            (Some(own), Some(Base::Default)) => base.policies().iter().cloned().chain(own).collect(),
        };
        PolicySet::new(policies).with_mode(form.mode).with_allow(form.allow)
    }
}

/// How much text the lists of a set and of its policies have.
fn text_bytes(value: &Value) -> usize {
    let texts = |list: &Value| -> usize {
        list.as_array().unwrap_or_default().iter().filter_map(Value::as_str).map(str::len).sum()
    };
    let lists = |policy: &Value| -> usize {
        policy.as_object().into_iter().flatten().map(|(_, list)| texts(list)).sum()
    };
    let policies = value.get("policies").unwrap_or(value).as_array().unwrap_or_default();
    policies.iter().map(lists).sum::<usize>() + value.get("allow").map_or(0, texts)
}

impl fmt::Display for InvalidPolicies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults.iter().map(|fault| (&fault.pointer, fault.message.as_str()));
        listed(out, "invalid policies", faults)
    }
}
