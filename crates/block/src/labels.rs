//! What is done with labelled content on its way out.
//!
//! Invariant: whatever is decided about a finding is recorded, and no record holds the content itself.

use std::sync::Arc;

use crate::{DataScope, Destination, GateRules, Provenance, SensitiveMatch, Sensitivity, gate};

/// What is done with content that its destination does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAction {
    /// It goes out with the sensitive stretches taken out.
    Redact,
    /// It does not go out.
    Refuse,
    /// It goes to this destination instead, which must be inside the content's scope.
    Route(String),
}

/// What a policy does with each label. A label without an action goes where [`gate`] lets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitivityPolicy {
    /// What is done with stretches of text that a rule recognised.
    pub restricted: GateAction,
    /// What is done with whole blocks that are restricted by their label or provenance; as with stretches when
    /// absent.
    pub block: Option<GateAction>,
    /// `None` lets private content serve its own request.
    pub private: Option<GateAction>,
    /// The label of content by where it came from, at the least.
    pub provenance: Vec<(Provenance, Sensitivity)>,
    /// What the gate looks for.
    pub rules: Arc<GateRules>,
    /// Whether the gate only records what it would do, and every request goes out as it is.
    pub report_only: bool,
}

/// One decision, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRecord {
    /// The rule that found it; `provenance` or `label` when the whole block is meant.
    pub rule: String,
    pub label: Sensitivity,
    /// The block's place in its request.
    pub block: usize,
    pub action: GateAction,
    pub destination: String,
    /// Whether the action was only recorded.
    pub is_report: bool,
}

impl GateAction {
    /// An action as a project writes it: `refuse`, `redact`, or `route:` and a name.
    #[must_use]
    pub fn from_words(words: &str) -> Option<GateAction> {
        match words {
            "refuse" => Some(GateAction::Refuse),
            "redact" => Some(GateAction::Redact),
            other => other.strip_prefix("route:").map(|to| GateAction::Route(to.to_owned())),
        }
    }
}

impl GateRecord {
    /// What was done, or would have been done, as records and metrics name it.
    #[must_use]
    pub fn action_word(&self) -> &'static str {
        match (&self.action, self.is_report) {
            (GateAction::Redact, false) => "redact",
            (GateAction::Refuse, false) => "refuse",
            (GateAction::Route(_), false) => "route",
            (GateAction::Redact, true) => "would_redact",
            (GateAction::Refuse, true) => "would_refuse",
            (GateAction::Route(_), true) => "would_route",
        }
    }
}

impl Default for SensitivityPolicy {
    fn default() -> Self {
        SensitivityPolicy {
            restricted: GateAction::Redact,
            block: Some(GateAction::Refuse),
            private: None,
            provenance: Vec::new(),
            rules: Arc::default(),
            report_only: false,
        }
    }
}

impl SensitivityPolicy {
    /// The label of a block: the most closed of its own, its provenance's and its findings'.
    #[must_use]
    pub fn label(
        &self,
        own: Sensitivity,
        provenance: Provenance,
        findings: &[SensitiveMatch<'_>],
    ) -> Sensitivity {
        let by_provenance = self.provenance.iter().filter(|(from, _)| *from == provenance);
        let labels = by_provenance.map(|(_, label)| *label).chain(findings.iter().map(|found| found.label));
        labels.fold(own, Sensitivity::join)
    }

    /// What is done with a whole block of a label on its way to a destination; `None` when it may go.
    #[must_use]
    pub fn block_action(
        &self,
        label: Sensitivity,
        origin: &DataScope,
        destination: Destination<'_>,
    ) -> Option<&GateAction> {
        let action = self.action(label, origin, destination)?;
        match label {
            Sensitivity::Restricted => Some(self.block.as_ref().unwrap_or(action)),
            Sensitivity::Public | Sensitivity::Private => Some(action),
        }
    }

    /// What is done with a stretch of a label on its way to a destination; `None` when it may go.
    #[must_use]
    pub fn action(
        &self,
        label: Sensitivity,
        origin: &DataScope,
        destination: Destination<'_>,
    ) -> Option<&GateAction> {
        let leaks = gate(label, origin, destination).is_err();
        match label {
            Sensitivity::Public => None,
            Sensitivity::Restricted => leaks.then_some(&self.restricted),
            Sensitivity::Private => match destination {
                Destination::Within(scope) if origin.contains(scope) => None,
                _ if leaks => Some(self.private.as_ref().unwrap_or(&GateAction::Refuse)),
                _ => self.private.as_ref(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_sensitive;

    #[test]
    fn restricted_content_never_leaves_its_scope_whatever_the_policy() {
        let (acme, other) = (DataScope::new("acme"), DataScope::new("other"));
        for restricted in [GateAction::Redact, GateAction::Refuse, GateAction::Route("local".to_owned())] {
            let policy = SensitivityPolicy { restricted: restricted.clone(), ..SensitivityPolicy::default() };
            for destination in [Destination::External, Destination::Shared, Destination::Within(&other)] {
                let action = policy.action(Sensitivity::Restricted, &acme, destination);
                assert_eq!(action, Some(&restricted));
            }
            assert_eq!(policy.action(Sensitivity::Restricted, &acme, Destination::Within(&acme)), None);
        }
    }

    #[test]
    fn provenance_and_findings_close_a_block_further() {
        let policy = SensitivityPolicy {
            provenance: vec![(Provenance::Memory, Sensitivity::Private)],
            ..SensitivityPolicy::default()
        };
        let label = |provenance, findings: &[SensitiveMatch<'_>]| {
            policy.label(Sensitivity::Public, provenance, findings)
        };
        assert_eq!(label(Provenance::User, &[]), Sensitivity::Public);
        assert_eq!(label(Provenance::Memory, &[]), Sensitivity::Private);
        let key = find_sensitive("AKIAIOSFODNN7EXAMPLE");
        assert_eq!(label(Provenance::Memory, &key), Sensitivity::Restricted);
    }
}
