//! The gate for the blocks of a prompt: content that a destination does not accept is redacted, refused or routed, and
//! always recorded.
//!
//! Invariant: the prompt of a verdict to send holds nothing that its policy keeps from the destination.

use crate::{BlockIr, DataScope, Destination, GateAction, GateRecord, Sensitivity, SensitivityPolicy};

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateVerdict {
    Send,
    Refuse,
    /// To this destination instead.
    Route(String),
}

/// A prompt after the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GovernedBlocks {
    pub verdict: GateVerdict,
    /// The prompt with redactions. Span ids stay: they name the block, not what is left of it.
    pub prompt: BlockIr,
    pub records: Vec<GateRecord>,
}

/// Replaces a whole text.
const REDACTED: &str = "[redacted]";

/// Decides about every block of a prompt on its way to a destination.
#[must_use]
pub fn govern_blocks(
    mut prompt: BlockIr,
    policy: &SensitivityPolicy,
    origin: &DataScope,
    destination: Destination<'_>,
) -> GovernedBlocks {
    let mut gate = Gate::new(policy, origin, destination);
    let as_it_was = policy.report_only.then(|| prompt.clone());
    for (index, block) in prompt.blocks.iter_mut().enumerate() {
        let label = policy.label(block.sensitivity, block.provenance, &[]);
        let governed = gate.text(index, label, &block.content);
        if let Some(text) = governed {
            block.content = text;
            block.token_metadata = None;
        }
    }
    let (verdict, records) = gate.finished();
    GovernedBlocks { verdict, prompt: as_it_was.unwrap_or(prompt), records }
}

/// Collects the decisions about the texts of one request.
#[derive(Debug)]
pub struct Gate<'g> {
    policy: &'g SensitivityPolicy,
    origin: &'g DataScope,
    destination: Destination<'g>,
    verdict: GateVerdict,
    records: Vec<GateRecord>,
}

impl<'g> Gate<'g> {
    #[must_use]
    pub fn new(policy: &'g SensitivityPolicy, origin: &'g DataScope, destination: Destination<'g>) -> Self {
        Gate { policy, origin, destination, verdict: GateVerdict::Send, records: Vec::new() }
    }

    /// Decides about a text with the label of its block, and gives what is left of it where something is
    /// taken out.
    pub fn text(&mut self, block: usize, label: Sensitivity, text: &str) -> Option<String> {
        self.redacted(block, label, text).filter(|_| !self.policy.report_only)
    }

    fn redacted(&mut self, block: usize, label: Sensitivity, text: &str) -> Option<String> {
        if self.whole(block, "label", label) == Some(GateAction::Redact) {
            return (!text.is_empty()).then(|| REDACTED.to_owned());
        }
        let mut left: Option<String> = None;
        let mut at = 0;
        let found = self.policy.rules.find(text);
        for hidden in self.policy.rules.find_behind_escapes(text, &found, &|| false).unwrap_or_default() {
            self.sealed_stretch(block, hidden.rule, hidden.label);
        }
        for finding in found {
            if self.stretch(block, finding.rule, finding.label) == Some(GateAction::Redact) {
                let left = left.get_or_insert_default();
                left.push_str(&text[at..finding.range.start]);
                left.push_str(&redaction(finding.rule));
                at = finding.range.end;
            }
        }
        left.map(|left| left + &text[at..])
    }

    /// Decides about a whole block.
    pub fn whole(&mut self, block: usize, rule: &str, label: Sensitivity) -> Option<GateAction> {
        let action = self.policy.block_action(label, self.origin, self.destination)?.clone();
        Some(self.record(block, rule, label, action))
    }

    /// Decides about a stretch of text that a rule recognised.
    pub fn stretch(&mut self, block: usize, rule: &str, label: Sensitivity) -> Option<GateAction> {
        let action = self.policy.action(label, self.origin, self.destination)?.clone();
        Some(self.record(block, rule, label, action))
    }

    /// The same about text that nothing can be taken out of: what would be redacted is refused.
    pub fn sealed_stretch(&mut self, block: usize, rule: &str, label: Sensitivity) -> Option<GateAction> {
        let action = match self.policy.action(label, self.origin, self.destination)? {
            GateAction::Redact => GateAction::Refuse,
            other => other.clone(),
        };
        Some(self.record(block, rule, label, action))
    }

    /// Decides about a request that somebody labelled as a whole. Nothing would be left of it, so what would be redacted
    /// is refused.
    pub fn request(&mut self, rule: &str, label: Sensitivity) -> Option<GateAction> {
        let action = match self.policy.block_action(label, self.origin, self.destination)? {
            GateAction::Redact => GateAction::Refuse,
            other => other.clone(),
        };
        Some(self.record(0, rule, label, action))
    }

    /// What becomes of the request. A policy that only reports sends it, whatever was decided; the caller must then leave
    /// the request as it is.
    #[must_use]
    pub fn finished(self) -> (GateVerdict, Vec<GateRecord>) {
        let verdict = if self.policy.report_only { GateVerdict::Send } else { self.verdict };
        (verdict, self.records)
    }

    /// Whether the request stays as it is, whatever was decided.
    #[must_use]
    pub fn only_reports(&self) -> bool {
        self.policy.report_only
    }

    fn record(&mut self, block: usize, rule: &str, label: Sensitivity, action: GateAction) -> GateAction {
        let destination = self.destination.to_string();
        let rule = rule.to_owned();
        let is_report = self.policy.report_only;
        self.records.push(GateRecord { rule, label, block, action: action.clone(), destination, is_report });
        match (&action, &self.verdict) {
            (GateAction::Refuse, _) => self.verdict = GateVerdict::Refuse,
            (GateAction::Route(to), GateVerdict::Send) => self.verdict = GateVerdict::Route(to.clone()),
            // With two routes there is no place that accepts all of it.
            (GateAction::Route(to), GateVerdict::Route(other)) if to != other => {
                self.verdict = GateVerdict::Refuse;
            }
            _ => {}
        }
        action
    }
}

/// The replacement of a stretch.
#[must_use]
pub fn redaction(rule: &str) -> String {
    format!("[redacted {rule}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockSection, PromptRole, Provenance, Wire, build};
    use stave_canon::{CountingIds, FixedClock, Timestamp};

    fn prompt() -> BlockIr {
        let text = |text: &str| BlockSection::text(PromptRole::User, Provenance::User, text);
        let sections = vec![
            text("key AKIAIOSFODNN7EXAMPLE and more"),
            text("a diagnosis").sensitivity(Sensitivity::Restricted),
            text("plain"),
        ];
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        build(sections, &Wire::default(), &CountingIds::new(), &clock).unwrap()
    }

    fn governed(policy: &SensitivityPolicy, destination: Destination<'_>) -> GovernedBlocks {
        govern_blocks(prompt(), policy, &DataScope::new("acme"), destination)
    }

    #[test]
    fn a_labelled_block_is_refused_and_a_secret_taken_out_unless_the_policy_says_otherwise() {
        let refused = governed(&SensitivityPolicy::default(), Destination::External);
        assert_eq!(refused.verdict, GateVerdict::Refuse);
        let rules: Vec<(&str, usize)> =
            refused.records.iter().map(|record| (record.rule.as_str(), record.block)).collect();
        assert_eq!(rules, [("aws_access_key", 0), ("label", 1)]);
        let redact = SensitivityPolicy { block: Some(GateAction::Redact), ..SensitivityPolicy::default() };
        let redacted = governed(&redact, Destination::External);
        assert_eq!(redacted.verdict, GateVerdict::Send);
        let texts: Vec<&str> = redacted.prompt.blocks.iter().map(|block| block.content.as_str()).collect();
        assert_eq!(texts, ["key [redacted aws_access_key] and more", REDACTED, "plain"]);
        assert_eq!(redacted.records.len(), 2);
    }

    #[test]
    fn a_policy_that_only_reports_records_the_same_and_changes_nothing() {
        for block in [GateAction::Redact, GateAction::Refuse, GateAction::Route("local".to_owned())] {
            let enforced = SensitivityPolicy { block: Some(block), ..SensitivityPolicy::default() };
            let reported = SensitivityPolicy { report_only: true, ..enforced.clone() };
            let (enforced, reported) =
                (governed(&enforced, Destination::External), governed(&reported, Destination::External));
            assert_eq!((reported.verdict, reported.prompt), (GateVerdict::Send, prompt()));
            let recorded = |records: Vec<GateRecord>| -> Vec<GateRecord> {
                records.into_iter().map(|record| GateRecord { is_report: true, ..record }).collect()
            };
            assert!(enforced.records.iter().all(|record| !record.is_report));
            assert_eq!(recorded(enforced.records), reported.records);
        }
    }

    #[test]
    fn inside_its_scope_nothing_is_kept_back() {
        let acme = DataScope::new("acme");
        let sent = governed(&SensitivityPolicy::default(), Destination::Within(&acme));
        assert_eq!((sent.verdict, sent.records.len()), (GateVerdict::Send, 0));
        assert_eq!(sent.prompt, prompt());
    }

    #[test]
    fn two_routes_are_none() {
        let route = |to: &str| GateAction::Route(to.to_owned());
        let policy = |restricted, block| SensitivityPolicy {
            restricted: route(restricted),
            block: Some(route(block)),
            ..SensitivityPolicy::default()
        };
        let verdict = |policy| governed(&policy, Destination::External).verdict;
        assert_eq!(verdict(policy("local", "local")), GateVerdict::Route("local".to_owned()));
        assert_eq!(verdict(policy("local", "other")), GateVerdict::Refuse);
    }
}
