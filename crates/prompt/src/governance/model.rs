//! Which models a prompt may go to.
//!
//! A model is named by its provider and, where it is known, by its own name. A pattern names a provider
//! (`openai`), a model (`gpt-4o`) or both (`openai/gpt-4o`); `*` stands for anything, and letter case does not
//! matter.

use std::sync::Arc;

use super::policy::{Policy, PolicyType};
use super::{PromptField, Violation};
use crate::PromptIr;

/// A model as policies see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedModel<'m> {
    pub provider: &'m str,
    pub name: Option<&'m str>,
}

impl<'m> AskedModel<'m> {
    /// The model that a prompt asks for: its hint, and the name in `metadata.model`.
    pub(super) fn of(ir: &'m PromptIr) -> Self {
        let name = ir.metadata.get("model").and_then(stave_canon::Value::as_str);
        AskedModel { provider: ir.provider(), name }
    }

    fn shown(&self) -> String {
        match self.name {
            Some(name) => format!("{}/{name}", self.provider),
            None => self.provider.to_owned(),
        }
    }

    fn is_meant_by(&self, pattern: &str) -> bool {
        match (pattern.split_once('/'), self.name) {
            // Names of models may hold slashes themselves.
            (Some((provider, name)), Some(own)) => {
                (matches(provider, self.provider) && matches(name, own)) || matches(pattern, own)
            }
            (Some((provider, "*")), None) => matches(provider, self.provider),
            (Some(_), None) => false,
            (None, own) => matches(pattern, self.provider) || own.is_some_and(|own| matches(pattern, own)),
        }
    }
}

/// What a policy says about a model: the forbidden patterns that mean it, and whether it is not one of the
/// allowed ones.
pub(super) fn judge(policy: &Policy, model: AskedModel<'_>, out: &mut Vec<Violation>) {
    if policy.policy_type() != PolicyType::Model {
        return;
    }
    let shown = model.shown();
    let meant = policy.patterns().iter().filter(|pattern| model.is_meant_by(pattern.written()));
    out.extend(
        meant.map(|pattern| Violation::new(policy, PromptField::Model, pattern, &shown, 0..shown.len())),
    );
    let only = policy.only_places();
    if !only.is_empty() && !only.iter().any(|pattern| model.is_meant_by(pattern)) {
        let named: Arc<str> = format!("outside {}", only.join(", ")).into();
        out.push(Violation::outside(policy, PromptField::Model, named, &shown));
    }
}

/// Whether a text is what a pattern with `*` says. The work is bounded by the length of both multiplied.
fn matches(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    // How much of the text the pattern so far can have used up.
    let mut reachable = vec![false; text.len() + 1];
    reachable.splice(..1, [true]);
    for sign in pattern.chars().flat_map(char::to_lowercase) {
        let mut seen = false;
        reachable = (0..reachable.len())
            .map(|used| {
                if sign == '*' {
                    seen |= reachable.get(used).copied().unwrap_or_default();
                    return seen;
                }
                let before = used.checked_sub(1);
                before.is_some_and(|before| {
                    reachable.get(before).copied().unwrap_or_default() && text.get(before) == Some(&sign)
                })
            })
            .collect();
    }
    reachable.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_a_provider_a_model_or_both() {
        let asked = AskedModel { provider: "openai", name: Some("gpt-4o-mini") };
        for pattern in ["openai", "OpenAI", "gpt-4o-mini", "gpt-*", "*mini", "openai/gpt-*", "*/*", "*"] {
            assert!(asked.is_meant_by(pattern), "{pattern}");
        }
        for pattern in ["anthropic", "gpt-4o", "gpt", "openai/gpt-4o", "anthropic/*", "", "openai/"] {
            assert!(!asked.is_meant_by(pattern), "{pattern}");
        }
        let hidden = AskedModel { provider: "ollama", name: Some("library/llama3") };
        assert!(hidden.is_meant_by("library/llama3") && hidden.is_meant_by("ollama/library/*"));
        let unnamed = AskedModel { provider: "openai", name: None };
        assert!(unnamed.is_meant_by("openai") && unnamed.is_meant_by("openai/*"));
        assert!(!unnamed.is_meant_by("openai/gpt-4o") && !unnamed.is_meant_by("gpt-4o"));
    }
}
