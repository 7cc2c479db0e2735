//! The policy that was baked into the document: governance and limits, read-only to the run.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_exec::Constants;

use crate::{Failure, failure::Kind};

/// What `constants.policy` says about model calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    /// The name the document gives it.
    pub name: String,
    /// Governance policies as data; `None` means the specification's default ones.
    pub governance: Option<Vec<Value>>,
    /// The most tokens a prompt may have, when a node sets none.
    pub prompt_tokens: Option<u64>,
}

impl Policy {
    /// Reads the baked policy. Anything that can not be understood stops the run: a rule that is not
    /// enforced is worse than a run that does not start.
    pub fn read(constants: &Constants) -> Result<Policy, Failure> {
        let policy = &constants.policy;
        let governance = match policy.get("governance") {
            None => None,
            Some(Value::Array(policies)) => Some(policies.clone()),
            Some(_) => return Err(bad("`governance` is not a list")),
        };
        let limits = match policy.get("limits") {
            None => &Object::new(),
            Some(Value::Object(limits)) => limits,
            Some(_) => return Err(bad("`limits` is not an object")),
        };
        let prompt_tokens = match limits.get("prompt_tokens") {
            None => None,
            Some(value) => {
                let tokens = value.as_i64().and_then(|tokens| u64::try_from(tokens).ok());
                Some(tokens.ok_or_else(|| bad("`limits.prompt_tokens` is not a whole number"))?)
            }
        };
        Ok(Policy { name: constants.policy_ref.clone(), governance, prompt_tokens })
    }
}

fn bad(message: &str) -> Failure {
    Failure::new(codes::BAD_DOCUMENT, Kind::Configuration, format!("the baked policy: {message}"))
}
