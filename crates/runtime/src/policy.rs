//! The policy that was baked into the document: governance and limits, read-only to the run.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_exec::Constants;
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
        let policy = &constants.policy;
        let read = |value: &Value| PolicySet::from_value(value).map_err(|error| bad(&error.to_string()));
        let governance = match policy.get("governance") {
            None => PolicySet::strict(),
            Some(list @ Value::Array(_)) => read(list)?.with_mode(MatchMode::Strict),
            Some(set @ Value::Object(_)) => read(set)?,
            Some(_) => return Err(bad("`governance` is neither a list nor an object")),
        };
        let constraints = match policy.get("constraints") {
            None => Some(Vec::new()),
            Some(Value::Array(items)) => {
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
            }
            Some(_) => None,
        };
        let constraints = constraints.ok_or_else(|| bad("`constraints` is not a list of texts"))?;
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
        let budget = limits.get("budget").map(RunBudget::read).transpose().map_err(|reason| bad(&reason))?;
        let budget = budget.unwrap_or_default();
        Ok(ModelCallPolicy {
            name: constants.policy_ref.clone(),
            governance,
            constraints,
            prompt_tokens,
            budget,
        })
    }
}

fn bad(message: &str) -> Failure {
    Failure::new(codes::BAD_DOCUMENT, FailureKind::Configuration, format!("the baked policy: {message}"))
}
