//! What a runtime obeys of `constants.policy`: how prompts are judged, and what they and the run may use up.
//!
//! Specification 004 leaves the payload to the compiler, so other keys are kept and ignored.
//!
//! Invariant: [`crate::read`] reports everything that [`BakedPolicy::read`] refuses, so a runtime begins no run under a
//! policy that it cannot read.

use stave_canon::{Object, Value};
use stave_shape::{Definitions, Faults, Place, Reader, Shape, ValueKind, ValueNode};

/// The members of a baked policy that bind model calls and runs.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(open, not_null)]
pub struct BakedPolicy {
    /// What every prompt is judged by: a list of policies, or an object with a mode.
    #[shape(with = policy_source)]
    pub governance: Option<Value>,
    /// What every prompt has to keep to.
    #[shape(default, omit_default)]
    pub constraints: Vec<String>,
    #[shape(default, omit_default)]
    pub limits: BakedLimits,
}

#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(open, not_null)]
pub struct BakedLimits {
    /// The most tokens a prompt may have, when a node sets none.
    #[shape(min = 0)]
    pub prompt_tokens: Option<u64>,
    #[shape(default, omit_default)]
    pub budget: BakedBudget,
}

/// Bounds on a whole run; what is absent is not bounded.
#[derive(Debug, Clone, Copy, PartialEq, Default, Shape)]
#[shape(open, not_null)]
pub struct BakedBudget {
    /// Tokens of all model calls, in and out.
    #[shape(min = 0)]
    pub tokens: Option<u64>,
    #[shape(min = 0)]
    pub cost_usd: Option<f64>,
    /// Calls to models and hosts, every attempt counted.
    #[shape(min = 0)]
    pub calls: Option<u64>,
    /// The time of the run in milliseconds.
    #[shape(min = 0)]
    pub wall_ms: Option<u64>,
    /// Executions of steps.
    #[shape(min = 0)]
    pub steps: Option<u64>,
}

impl BakedPolicy {
    /// Reads `constants.policy`.
    pub fn read(policy: &Object) -> Result<BakedPolicy, Faults> {
        stave_shape::read(&Value::Object(policy.clone()))
    }
}

/// The member `policy` keeps every key, and its form is that of a [`BakedPolicy`].
pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Object> {
    <BakedPolicy as Shape>::read(node, at, reader)?;
    Object::read(node, at, reader)
}

pub(crate) fn write(policy: &Object) -> Value {
    policy.write()
}

pub(crate) fn schema(definitions: &mut Definitions) -> Value {
    BakedPolicy::schema(definitions)
}

/// A list or an object; the prompt line reads what is in it.
mod policy_source {
    use super::*;

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Value> {
        if !matches!(node.kind(), ValueKind::Array | ValueKind::Object) {
            reader.wrong_type(node, at, "an array of policies or an object");
            return None;
        }
        Some(node.to_value())
    }

    pub(super) fn write(source: &Value) -> Value {
        source.clone()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", vec![Value::from("array"), "object".into()])])
    }
}
