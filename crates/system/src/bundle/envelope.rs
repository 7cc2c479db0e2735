//! The policy envelope: what the runtime may do while it runs the bundle.

use std::collections::BTreeSet;

use stave_canon::{Object, Value};

use super::emit::BundleError;
use crate::{NodeKind, SystemDocument, strip};

/// Words of a constraint that is about the network.
const NETWORK_WORDS: [&str; 8] =
    ["network", "egress", "internet", "outbound", "external call", "http", "socket", "online"];

/// Whether what is known forbids the network: a hard constraint about it that no decision set aside.
#[must_use]
pub fn forbids_network(document: &SystemDocument) -> bool {
    let entities = || document.nodes.iter().filter(|node| node.kind == NodeKind::Entity);
    let text = |properties: &Object, key: &str| {
        properties.get(key).and_then(Value::as_str).map(|text| strip(text).to_lowercase())
    };
    let set_aside: BTreeSet<String> = entities()
        .filter(|node| node.properties.get("selected").and_then(Value::as_bool) == Some(false))
        .filter_map(|node| text(&node.properties, "assertion_id"))
        .collect();
    entities().map(|node| &node.properties).any(|properties| {
        let is_hard = text(properties, "kind").as_deref() == Some("hard");
        let forbids = matches!(text(properties, "predicate").as_deref(), Some("forbidden" | "must_not_use"));
        let in_force = text(properties, "assertion_id").is_none_or(|id| !set_aside.contains(&id));
        let summary = text(properties, "summary").unwrap_or_default();
        is_hard && forbids && in_force && NETWORK_WORDS.iter().any(|word| summary.contains(word))
    })
}

/// What the envelope is made from.
#[derive(Debug)]
pub(super) struct Envelope<'e> {
    pub(super) run_id: &'e str,
    pub(super) document: &'e SystemDocument,
    pub(super) coordination: &'e Value,
    /// Whether the intent lets the run use the network.
    pub(super) intent_allows: bool,
    pub(super) has_success_criteria: bool,
}

impl Envelope<'_> {
    pub(super) fn allow_network(&self) -> bool {
        self.intent_allows && !forbids_network(self.document)
    }

    pub(super) fn value(&self) -> Result<Value, BundleError> {
        let allow_network = self.allow_network();
        let reason = allow_network.then_some("the intent's operating bounds allow it");
        let mut members: Vec<(&str, Value)> = vec![
            ("tenant_id", strip(&self.document.tenant_id).into()),
            ("repo_id", strip(&self.document.repo_id).into()),
            ("run_id", self.run_id.into()),
            ("allow_network", allow_network.into()),
            ("network_allow_reason", reason.into()),
            ("tenant_isolation_required", true.into()),
            ("adapter_fallback_mode", "native".into()),
            ("coordination_role_isolation_profiles", self.profiles()?.into()),
        ];
        if self.has_success_criteria {
            members.push(("require_reconcile_evidence", true.into()));
        }
        if self.intent_allows && !allow_network {
            members.push(("knowledge_network_forbidden", true.into()));
        }
        Ok(members.into_iter().collect())
    }

    /// The role profiles. One that asks for a network which the intent forbids is refused; where only what
    /// is known forbids it, the profile is tightened instead.
    fn profiles(&self) -> Result<Object, BundleError> {
        const ALLOW: &str = "execution_allow_network";
        let governance = self.coordination.get("governance").and_then(|part| part.get("role_profiles"));
        let mut profiles = governance.and_then(Value::as_object).cloned().unwrap_or_default();
        for (role, profile) in &mut profiles {
            let asks = profile.get(ALLOW).and_then(Value::as_bool) == Some(true);
            if asks && !self.intent_allows {
                return Err(BundleError::RoleNeedsNetwork(role.clone()));
            }
            if asks
                && !self.allow_network()
                && let Some(profile) = profile.as_object_mut()
            {
                profile.insert(ALLOW.into(), false.into());
            }
        }
        Ok(profiles)
    }
}
