//! Governance: policies judge a Prompt IR before any token is spent.
//!
//! A policy forbids texts in one field. A hit is a [`Violation`] that knows its policy, field, place and
//! matched text, and prints as the sentence the specification gives it. Whether a prompt is denied is
//! decided by the action of the violated policies, never by the words of a sentence.
//!
//! Invariant: judging is a pure function of the policies and the prompt; violations come in policy
//! order, then item order, then pattern order.

mod lowered;
mod policy;
mod report;
mod violation;

pub use policy::{Action, InvalidPolicies, Policy, PolicyFault, PolicyType};
pub use report::{CheckEntry, CheckLog, RECENT_CHECKS, Report};
pub use violation::{Field, Violation};

use stave_canon::Value;

use crate::PromptIr;
use lowered::Lowered;

/// The policies that a prompt is judged by. The default is the specification's three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySet {
    policies: Vec<Policy>,
}

/// What the policies say about one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    pub violations: Vec<Violation>,
}

impl PolicySet {
    #[must_use]
    pub fn new(policies: Vec<Policy>) -> Self {
        PolicySet { policies }
    }

    /// Reads a list of policies. `null` means the default policies; an empty list means none at all.
    pub fn from_value(value: &Value) -> Result<PolicySet, InvalidPolicies> {
        match value {
            Value::Null => Ok(PolicySet::default()),
            list => policy::read_list(list).map(PolicySet::new),
        }
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Array(self.policies.iter().map(Policy::to_value).collect())
    }

    #[must_use]
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Judges a prompt.
    #[must_use]
    pub fn check(&self, ir: &PromptIr) -> Verdict {
        let intent = Lowered::new(&ir.intent);
        let constraints: Vec<Lowered<'_>> = ir.constraints.iter().map(|text| Lowered::new(text)).collect();
        let mut violations = Vec::new();
        for policy in &self.policies {
            match policy.policy_type() {
                PolicyType::ContextRef => {
                    for (index, reference) in ir.context_refs.iter().enumerate() {
                        violations.extend(policy.patterns().filter_map(|pattern| {
                            let start = reference.find(pattern.written())?;
                            let range = start..start + pattern.written().len();
                            Some(Violation::new(policy, Field::ContextRefs(index), pattern, reference, range))
                        }));
                    }
                }
                PolicyType::Intent => {
                    violations.extend(policy.patterns().filter_map(|pattern| {
                        let range = intent.find(pattern.lowered())?;
                        Some(Violation::new(policy, Field::Intent, pattern, intent.original(), range))
                    }));
                }
                PolicyType::Constraint => {
                    for (index, constraint) in constraints.iter().enumerate() {
                        violations.extend(policy.patterns().filter_map(|pattern| {
                            let range = constraint.find(pattern.lowered())?;
                            let field = Field::Constraints(index);
                            Some(Violation::new(policy, field, pattern, constraint.original(), range))
                        }));
                    }
                }
            }
        }
        Verdict { violations }
    }
}

impl Default for PolicySet {
    fn default() -> Self {
        let policy = |name: &str, policy_type, patterns: [&str; 3], action| {
            Policy::new(name, policy_type, patterns.map(str::to_owned), action)
        };
        PolicySet::new(vec![
            policy(
                "protected_paths",
                PolicyType::ContextRef,
                ["/sys/", "/etc/", r"C:\Windows\System32\"],
                Action::Deny,
            ),
            policy(
                "destructive_actions",
                PolicyType::Intent,
                ["delete all", "drop database", "rm -rf"],
                Action::Flag,
            ),
            policy(
                "sensitive_constraints",
                PolicyType::Constraint,
                ["ignore policy", "bypass", "override"],
                Action::Deny,
            ),
        ])
    }
}

impl Verdict {
    /// Whether the prompt may go on: no violated policy denies.
    #[must_use]
    pub fn approved(&self) -> bool {
        self.violations.iter().all(|violation| violation.action == Action::Flag)
    }

    /// The violations as the specification's sentences.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.violations.iter().map(ToString::to_string).collect()
    }
}
