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
    /// `None` in bundles that have no profiles.
    roles: Option<BTreeMap<String, RoleProfile>>,
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
        let profiles = member("coordination_role_isolation_profiles");
        let of_roles = profiles.and_then(Value::as_object).into_iter().flatten().map(|(role, profile)| {
            let tools = profile.get("allowed_tools").and_then(Value::as_array);
            let tools = tools.unwrap_or_default().iter().filter_map(|tool| tool.as_str().map(str::to_owned));
            let network = is_true(profile.get("execution_allow_network"));
            (role.clone(), RoleProfile { network, tools: tools.collect() })
        });
        let roles = profiles.map(|_| of_roles.collect());
        // Knowledge that no step may fetch is fetched by no step.
        let isolated = is_true(member("knowledge_network_forbidden"));
        PolicyEnvelope { allow_network: is_true(member("allow_network")) && !isolated, roles }
    }
}

impl PolicyEnvelope {
    /// The first of these effects that a step may not have, and what forbids it. `node` is the step in the system
    /// document. A role without a profile may neither use the network nor call a tool.
    #[must_use]
    pub fn forbids(&self, node: &SystemNode, effects: &EffectAnnotation) -> Option<(String, String)> {
        if effects.network && !self.allow_network {
            return Some(("the network".to_owned(), "`allow_network` of the bundle".to_owned()));
        }
        let role = role(node);
        let profile = self.roles.as_ref()?.get(role);
        if effects.network && !profile.is_some_and(|profile| profile.network) {
            return Some(("the network".to_owned(), format!("role `{role}`")));
        }
        let tools = profile.map(|profile| profile.tools.as_slice()).unwrap_or_default();
        let tool = effects.tools.iter().find(|tool| !allows_tool(tools, tool))?;
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
        if let Some(secret) = effects.secrets.iter().find(|secret| !self.secrets.contains(secret)) {
            return Some(format!("the secret `{secret}`"));
        }
        let file = effects.fs_read.iter().find(|file| !allows_file(&self.fs_read, file))?;
        Some(format!("the file `{file}`"))
    }
}

/// Whether a list of paths has a path: as it is written, or below a folder that ends in `/` or `/**`.
fn allows_file(paths: &[String], file: &str) -> bool {
    let climbs = file.split('/').any(|part| part == "..");
    paths.iter().any(|path| {
        let below = match path.strip_suffix("**") {
            Some(folder) if folder.is_empty() || folder.ends_with('/') => Some(folder),
            _ => Some(path.as_str()).filter(|path| path.ends_with('/')),
        };
        path == file || below.is_some_and(|folder| !climbs && file.starts_with(folder))
    })
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
    fn a_file_is_declared_as_written_or_by_its_folder() {
        let reads = |paths: &[&str]| EffectAnnotation {
            fs_read: paths.iter().map(|path| (*path).to_owned()).collect(),
            ..EffectAnnotation::default()
        };
        let declared = reads(&["docs/", "src/**", "notes/*.md"]);
        for fine in ["docs/a.md", "docs/deep/b.md", "src/main.rs", "notes/*.md"] {
            assert_eq!(declared.undeclared(&reads(&[fine])), None, "{fine}");
        }
        for other in ["doc", "docs/../keys", "notes/a.md", "/docs/a.md", "srcs/a"] {
            assert_eq!(declared.undeclared(&reads(&[other])), Some(format!("the file `{other}`")));
        }
    }

    /// A step that retrieves.
    fn retriever() -> SystemNode {
        let node = SystemNode::new("n", "t", crate::NodeKind::Workflow, "fetch");
        SystemNode { effects: Some(effects(true, &["http.get"], &[])), ..node }
    }

    #[test]
    fn an_envelope_without_a_word_about_the_network_forbids_it() {
        let envelope = PolicyEnvelope::default();
        assert!(envelope.forbids(&retriever(), &effects(true, &[], &[])).is_some());
        assert!(envelope.forbids(&retriever(), &effects(false, &["http.get"], &[])).is_none());
    }

    #[test]
    fn a_role_without_a_profile_may_do_nothing_outside_the_run() {
        let profiled = |roles: &[&str]| {
            let profile = RoleProfile { network: true, tools: vec!["http.get".to_owned()] };
            let roles = roles.iter().map(|role| ((*role).to_owned(), profile.clone())).collect();
            PolicyEnvelope { allow_network: true, roles: Some(roles) }
        };
        let get = effects(true, &["http.get"], &[]);
        assert_eq!(profiled(&["retriever"]).forbids(&retriever(), &get), None);
        for envelope in [profiled(&[]), profiled(&["writer"])] {
            assert!(envelope.forbids(&retriever(), &get).is_some());
            assert!(envelope.forbids(&retriever(), &effects(false, &["http.get"], &[])).is_some());
            assert_eq!(envelope.forbids(&retriever(), &effects(false, &[], &[])), None);
        }
    }
}
