//! The policy that was baked into the document: governance and limits, read-only to the run.

use stave_diag::codes::run as codes;
use stave_exec::Constants;
use stave_exec::baked_policy::BakedPolicy;
use stave_prompt::governance::{MatchMode, PolicySet};

use crate::budget::RunBudget;
use crate::{Failure, failure::FailureKind};

/// What `constants.policy` says about model calls.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCallPolicy {
    /// The name the document gives it.
    pub name: String,
    /// What every prompt is judged by: the specification's policies in strict mode, unless the document
    /// says otherwise.
    pub governance: PolicySet,
    /// What every prompt has to keep to.
    pub constraints: Vec<String>,
    /// The most tokens a prompt may have, when a node sets none.
    pub prompt_tokens: Option<u64>,
    /// What a run may use up.
    pub budget: RunBudget,
}

impl ModelCallPolicy {
    /// Reads the baked policy. Anything that cannot be understood stops the run: a rule that is not
    /// enforced is worse than a run that does not start.
    pub fn read(constants: &Constants) -> Result<ModelCallPolicy, Failure> {
        let BakedPolicy { governance, constraints, limits } =
            BakedPolicy::read(&constants.policy).map_err(|faults| bad(&faults.to_string()))?;
        let governance = match governance {
            None => PolicySet::strict(),
            Some(source) => {
                let set = PolicySet::from_value(&source).map_err(|error| bad(&error.to_string()))?;
                // A list cannot say how texts are compared.
                if source.as_array().is_some() { set.with_mode(MatchMode::Strict) } else { set }
            }
        };
        Ok(ModelCallPolicy {
            name: constants.policy_ref.clone(),
            governance,
            constraints,
            prompt_tokens: limits.prompt_tokens,
            budget: RunBudget::new(&limits.budget),
        })
    }
}

fn bad(message: &str) -> Failure {
    Failure::new(codes::BAD_DOCUMENT, FailureKind::Configuration, format!("the baked policy: {message}"))
}
