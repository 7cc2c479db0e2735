//! The policy envelope of a bundle as a runtime reads it: what any step, and the steps of each role, may do.
//!
//! Invariant: what the envelope does not allow in so many words is not allowed.

use std::collections::BTreeMap;

use stave_canon::Value;

use super::Bundle;
use super::coordination::role;
use crate::SystemNode;
use crate::model::EffectAnnotation;

/// What the steps of a system may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyEnvelope {
    allow_network: bool,
    roles: BTreeMap<String, RoleProfile>,
}

/// What the steps of one role may do.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RoleProfile {
    network: bool,
    tools: Vec<String>,
}

impl Bundle {
    /// The policy envelope, as far as steps are concerned.
    #[must_use]
    pub fn envelope(&self) -> PolicyEnvelope {
        let envelope = self.value().get("runtime_policy_envelope");
        let member = |key: &str| envelope.and_then(|envelope| envelope.get(key));
        let is_true = |value: Option<&Value>| value.and_then(Value::as_bool) == Some(true);
        let profiles = member("coordination_role_isolation_profiles").and_then(Value::as_object);
        let roles = profiles.into_iter().flatten().map(|(role, profile)| {
            let tools = profile.get("allowed_tools").and_then(Value::as_array);
            let tools = tools.unwrap_or_default().iter().filter_map(|tool| tool.as_str().map(str::to_owned));
            let network = is_true(profile.get("execution_allow_network"));
            (role.clone(), RoleProfile { network, tools: tools.collect() })
        });
        PolicyEnvelope { allow_network: is_true(member("allow_network")), roles: roles.collect() }
    }
}

impl PolicyEnvelope {
    /// The first of these effects that a step may not have, and what forbids it. `node` is the step in the system
    /// document; a step that the document does not describe has no role.
    #[must_use]
    pub fn forbids(&self, node: Option<&SystemNode>, effects: &EffectAnnotation) -> Option<(String, String)> {
        if effects.network && !self.allow_network {
            return Some(("the network".to_owned(), "`allow_network` of the bundle".to_owned()));
        }
        let role = role(node?);
        let profile = self.roles.get(role)?;
        if effects.network && !profile.network {
            return Some(("the network".to_owned(), format!("role `{role}`")));
        }
        let tool = effects.tools.iter().find(|tool| !allows_tool(&profile.tools, tool))?;
        Some((format!("the tool `{tool}`"), format!("role `{role}`")))
    }
}

impl EffectAnnotation {
    /// The first of these effects that is not among the declared ones.
    #[must_use]
    pub fn undeclared(&self, effects: &EffectAnnotation) -> Option<String> {
        if effects.network && !self.network {
            return Some("the network".to_owned());
        }
        if let Some(tool) = effects.tools.iter().find(|tool| !allows_tool(&self.tools, tool)) {
            return Some(format!("the tool `{tool}`"));
        }
        let secret = effects.secrets.iter().find(|secret| !self.secrets.contains(secret))?;
        Some(format!("the secret `{secret}`"))
    }
}

/// Whether a list of tools has a tool. A model step is called `llm.complete` in documents made from flows and `llm.chat`
/// in those made from workflows.
fn allows_tool(tools: &[String], tool: &str) -> bool {
    let is = |name: &str| tools.iter().any(|allowed| allowed == name);
    is(tool) || (tool == "llm.chat" && is("llm.complete"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(network: bool, tools: &[&str], secrets: &[&str]) -> EffectAnnotation {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        EffectAnnotation {
            network,
            tools: texts(tools),
            secrets: texts(secrets),
            ..EffectAnnotation::default()
        }
    }

    #[test]
    fn an_effect_that_was_not_declared_is_named() {
        let declared = effects(true, &["http.get", "llm.complete"], &["TOKEN"]);
        assert_eq!(declared.undeclared(&effects(true, &["http.get", "llm.chat"], &["TOKEN"])), None);
        let post = effects(true, &["http.post"], &[]);
        assert_eq!(declared.undeclared(&post), Some("the tool `http.post`".to_owned()));
        let other = effects(false, &[], &["TOKEN", "OTHER"]);
        assert_eq!(declared.undeclared(&other), Some("the secret `OTHER`".to_owned()));
        let nothing = effects(false, &["http.get"], &[]);
        assert_eq!(nothing.undeclared(&effects(true, &["http.get"], &[])), Some("the network".to_owned()));
    }

    #[test]
    fn an_envelope_without_a_word_about_the_network_forbids_it() {
        let envelope = PolicyEnvelope::default();
        assert!(envelope.forbids(None, &effects(true, &[], &[])).is_some());
        assert!(envelope.forbids(None, &effects(false, &["http.get"], &[])).is_none());
    }
}
