//! Sensitivity labels from what content looks like, and what is done with labelled content on its way out.
//!
//! Invariant: whatever is decided about a finding is recorded, and no record holds the content itself.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde::Deserialize;

use crate::{Destination, ProvenanceLabel, Scope, SensitivityLabel, gate};

/// A stretch of text that a rule recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    pub label: SensitivityLabel,
    pub range: Range<usize>,
}

/// What is done with content that may not go where it is about to go.
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
    pub provenance: Vec<(ProvenanceLabel, SensitivityLabel)>,
}

/// One decision, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRecord {
    /// The rule that found it; `provenance` or `label` when the whole block is meant.
    pub rule: &'static str,
    pub label: SensitivityLabel,
    /// The block's place in its request.
    pub block: usize,
    pub action: GateAction,
    pub destination: String,
}

impl Default for SensitivityPolicy {
    fn default() -> Self {
        SensitivityPolicy {
            restricted: GateAction::Redact,
            block: Some(GateAction::Refuse),
            private: None,
            provenance: Vec::new(),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Table {
    rule: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    label: String,
    regex: String,
    check: Option<String>,
}

struct Rule {
    name: String,
    label: SensitivityLabel,
    regex: Regex,
    holds: fn(&str) -> bool,
}

struct Rules {
    set: RegexSet,
    each: Vec<Rule>,
}

/// The edge of a word, as the rules write it.
const EDGE: &str = r"(?-u:\b)";

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(str::to_owned));

/// The rules without the edges of words, for texts that were joined: what stood before and after a text was another one.
static EDGELESS: LazyLock<Rules> = LazyLock::new(|| Rules::read(|regex| regex.replace(EDGE, "")));

impl Rules {
    fn read(written: impl Fn(&str) -> String) -> Rules {
        let table: Table = crate::rules::embedded(include_str!("../data/sensitivity.toml"), "sensitivity");
        let set = RegexSet::new(table.rule.iter().map(|row| written(&row.regex)));
        let each = table.rule.into_iter().map(|row| {
            Some(Rule {
                label: SensitivityLabel::from_word(&row.label)?,
                regex: Regex::new(&written(&row.regex)).ok()?,
                holds: match row.check.as_deref() {
                    None => |_| true,
                    Some("luhn") => luhn,
                    Some("iban") => iban,
                    Some(_) => return None,
                },
                name: row.name,
            })
        });
        let each: Option<Vec<Rule>> = each.collect();
        debug_assert!(each.is_some() && set.is_ok(), "the embedded rules are valid");
        Rules { set: set.unwrap_or_default(), each: each.unwrap_or_default() }
    }
}

/// The sensitive stretches of a text, in order and without overlap; the more closed label wins, then the
/// earlier stretch.
#[must_use]
pub fn find_sensitive(text: &str) -> Vec<Finding> {
    find_sensitive_until(text, &|| false).unwrap_or_default()
}

/// The same for a caller that has no time to lose; `None` once `is_late` says so, which each rule asks.
#[must_use]
pub fn find_sensitive_until(text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<Finding>> {
    find_by(&RULES, text, is_late)
}

/// The same in a text that was joined from several, where no letter beside a stretch is known to belong to it. For
/// stretches that are in two of the texts or more: inside one text, edges of words count.
#[must_use]
pub fn find_sensitive_joined(text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<Finding>> {
    find_by(&EDGELESS, text, is_late)
}

fn find_by(rules: &'static Rules, text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<Finding>> {
    let mut found: Vec<Finding> = Vec::new();
    if is_late() {
        return None;
    }
    for index in rules.set.matches(text) {
        if is_late() {
            return None;
        }
        let Some(rule) = rules.each.get(index) else { continue };
        found.extend(
            rule.regex
                .find_iter(text)
                .filter(|matched| (rule.holds)(matched.as_str()))
                .map(|matched| Finding { rule: &rule.name, label: rule.label, range: matched.range() }),
        );
    }
    found.sort_by_key(|finding| {
        (std::cmp::Reverse(finding.label), finding.range.start, std::cmp::Reverse(finding.range.end))
    });
    // Those that are kept do not overlap, so only the neighbours of a further one can overlap with it.
    let mut kept: BTreeMap<usize, Finding> = BTreeMap::new();
    for finding in found {
        let Range { start, end } = finding.range;
        let before = kept.range(..=start).next_back().is_some_and(|(_, other)| start < other.range.end);
        let after = kept.range(start..).next().is_some_and(|(at, _)| *at < end);
        if !before && !after {
            kept.insert(start, finding);
        }
    }
    Some(kept.into_values().collect())
}

impl SensitivityPolicy {
    /// The label of a block: the most closed of its own, its provenance's and its findings'.
    #[must_use]
    pub fn label(
        &self,
        own: SensitivityLabel,
        provenance: ProvenanceLabel,
        findings: &[Finding],
    ) -> SensitivityLabel {
        let by_provenance = self.provenance.iter().filter(|(from, _)| *from == provenance);
        let labels = by_provenance.map(|(_, label)| *label).chain(findings.iter().map(|found| found.label));
        labels.fold(own, SensitivityLabel::join)
    }

    /// What is done with a whole block of a label on its way to a destination; `None` when it may go.
    #[must_use]
    pub fn block_action(
        &self,
        label: SensitivityLabel,
        origin: &Scope,
        destination: Destination<'_>,
    ) -> Option<&GateAction> {
        let action = self.action(label, origin, destination)?;
        match label {
            SensitivityLabel::Restricted => Some(self.block.as_ref().unwrap_or(action)),
            SensitivityLabel::Public | SensitivityLabel::Private => Some(action),
        }
    }

    /// What is done with a stretch of a label on its way to a destination; `None` when it may go.
    #[must_use]
    pub fn action(
        &self,
        label: SensitivityLabel,
        origin: &Scope,
        destination: Destination<'_>,
    ) -> Option<&GateAction> {
        let leaks = gate(label, origin, destination).is_err();
        match label {
            SensitivityLabel::Public => None,
            SensitivityLabel::Restricted => leaks.then_some(&self.restricted),
            SensitivityLabel::Private => match destination {
                Destination::Within(scope) if origin.contains(scope) => None,
                _ if leaks => Some(self.private.as_ref().unwrap_or(&GateAction::Refuse)),
                _ => self.private.as_ref(),
            },
        }
    }
}

/// The check digit of card numbers.
fn luhn(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => *digit,
            (_, doubled) => doubled / 10 + doubled % 10,
        })
        .sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

/// The check number of international bank accounts.
fn iban(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|letter| *letter != ' ').collect();
    let Some((head, tail)) = plain.split_at_checked(4) else { return false };
    let remainder = tail.iter().chain(head).try_fold(0_u32, |remainder, letter| {
        let value = letter.to_digit(36)?;
        Some((remainder * if value > 9 { 100 } else { 10 } + value) % 97)
    });
    (15..=34).contains(&plain.len()) && remainder == Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_personal_data_are_found() {
        let key = format!("sk-proj-{}", "a1B2".repeat(8));
        for (text, rule) in [
            (format!("use {key} please"), "openai_key"),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), "aws_access_key"),
            (format!("token ghp_{}", "x".repeat(36)), "github_token"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----".to_owned(), "private_key"),
            ("postgres://app:hunter2@db/main".to_owned(), "password_in_url"),
            ("card 4111 1111 1111 1111".to_owned(), "payment_card"),
            ("GB82 WEST 1234 5698 7654 32".to_owned(), "iban"),
            ("write to jane.doe@example.com".to_owned(), "email_address"),
            ("call +44 20 7946 0958".to_owned(), "phone_number"),
            ("ssn 078-05-1120".to_owned(), "social_security_number"),
        ] {
            let rules: Vec<&str> = find_sensitive(&text).iter().map(|finding| finding.rule).collect();
            assert_eq!(rules, [rule], "{text}");
        }
    }

    #[test]
    fn letters_of_another_script_hide_nothing() {
        for text in ["ключAKIAIOSFODNN7EXAMPLE", "é4111 1111 1111 1111", "鍵sk-proj-a1B2a1B2a1B2a1B2a1B2"]
        {
            assert_eq!(find_sensitive(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_caller_without_time_is_told_nothing() {
        assert_eq!(find_sensitive_until("AKIAIOSFODNN7EXAMPLE", &|| true), None);
    }

    #[test]
    fn ordinary_text_is_not_sensitive() {
        for text in ["", "order 1234 5678 9012 3456", "GB00 WEST 1234 5698 7654 32", "sk-short", "a @ b"] {
            assert_eq!(find_sensitive(text), [], "{text}");
        }
    }

    #[test]
    fn restricted_content_never_leaves_its_scope_whatever_the_policy() {
        let (acme, other) = (Scope::new("acme"), Scope::new("other"));
        for restricted in [GateAction::Redact, GateAction::Refuse, GateAction::Route("local".to_owned())] {
            let policy = SensitivityPolicy { restricted: restricted.clone(), ..SensitivityPolicy::default() };
            for destination in [Destination::External, Destination::Shared, Destination::Within(&other)] {
                let action = policy.action(SensitivityLabel::Restricted, &acme, destination);
                assert_eq!(action, Some(&restricted));
            }
            assert_eq!(policy.action(SensitivityLabel::Restricted, &acme, Destination::Within(&acme)), None);
        }
    }

    #[test]
    fn provenance_and_findings_close_a_block_further() {
        let policy = SensitivityPolicy {
            provenance: vec![(ProvenanceLabel::Memory, SensitivityLabel::Private)],
            ..SensitivityPolicy::default()
        };
        let label =
            |provenance, findings: &[Finding]| policy.label(SensitivityLabel::Public, provenance, findings);
        assert_eq!(label(ProvenanceLabel::User, &[]), SensitivityLabel::Public);
        assert_eq!(label(ProvenanceLabel::Memory, &[]), SensitivityLabel::Private);
        let key = find_sensitive("AKIAIOSFODNN7EXAMPLE");
        assert_eq!(label(ProvenanceLabel::Memory, &key), SensitivityLabel::Restricted);
    }
}
