//! Figures over model requests: what the policies, the gate and the token budget did to them.
//!
//! Model steps keep them with each node of a run, the gateway makes them of its records, and a report adds both up.
//!
//! Invariant: they hold names of policies, rules and fields, and numbers. No text of a prompt is in them, so they may
//! be shown where the prompt may not.

use stave_canon::Value;
use stave_shape::Shape;

use crate::governance::{PolicyAction, Violation};

/// What became of a number of model requests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Shape)]
#[shape(open)]
pub struct PromptCounts {
    /// Requests that were prepared for a model.
    pub requests: u64,
    /// Those that were not sent: a policy or the gate refused them, they exceeded their token budget, or a reference could
    /// not be read.
    pub denied: u64,
    #[shape(default)]
    pub policies: Vec<PolicyCount>,
    #[shape(default)]
    pub gate: Vec<GateCount>,
    #[shape(default)]
    pub cuts: Vec<CutCount>,
}

/// The violations of one policy in one field.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct PolicyCount {
    pub policy: String,
    pub field: String,
    /// Violations that denied a request.
    pub denials: u64,
    /// Violations that were reported only.
    pub flags: u64,
}

/// What the sensitivity gate did by one rule in one field.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct GateCount {
    pub rule: String,
    pub field: String,
    pub refusals: u64,
    pub redactions: u64,
    /// Contents that were sent to another model instead.
    pub routed: u64,
    /// How often the gate would have acted, where it only reports.
    #[shape(default)]
    pub reported: u64,
}

/// What was left out of one kind of section.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct CutCount {
    pub section: String,
    pub reason: String,
    pub cuts: u64,
    pub tokens: u64,
}

impl PromptCounts {
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == PromptCounts::default()
    }

    /// Counts one violation in the field that it was found in.
    pub fn violation(&mut self, violation: &Violation) {
        self.violation_in(violation, violation.field.word());
    }

    /// Counts one violation in a field that the caller names.
    pub fn violation_in(&mut self, violation: &Violation, field: &str) {
        self.policy(&violation.policy, field, violation.action == PolicyAction::Deny, 1);
    }

    /// Counts violations of one policy in one field.
    pub fn policy(&mut self, policy: &str, field: &str, denies: bool, count: u64) {
        let known = entry(
            &mut self.policies,
            |known| known.policy == policy && known.field == field,
            || PolicyCount { policy: policy.to_owned(), field: field.to_owned(), denials: 0, flags: 0 },
        );
        add(if denies { &mut known.denials } else { &mut known.flags }, count);
    }

    /// Counts decisions of the gate: `refuse`, `redact` or `route`, each also as `would_…` where the gate only reports. Other
    /// actions are not the gate's.
    pub fn gate(&mut self, action: &str, rule: &str, field: &str, count: u64) {
        let number: fn(&mut GateCount) -> &mut u64 = match action {
            "refuse" => |known| &mut known.refusals,
            "redact" => |known| &mut known.redactions,
            "route" => |known| &mut known.routed,
            _ if action.starts_with("would_") => |known| &mut known.reported,
            _ => return,
        };
        if count == 0 {
            return;
        }
        let known = entry(
            &mut self.gate,
            |known| known.rule == rule && known.field == field,
            || GateCount {
                rule: rule.to_owned(),
                field: field.to_owned(),
                refusals: 0,
                redactions: 0,
                routed: 0,
                reported: 0,
            },
        );
        add(number(known), count);
    }

    /// Counts what was cut from one section.
    pub fn cut(&mut self, section: &str, reason: &str, tokens: u64) {
        self.cuts(section, reason, 1, tokens);
    }

    fn cuts(&mut self, section: &str, reason: &str, cuts: u64, tokens: u64) {
        let known = entry(
            &mut self.cuts,
            |known| known.section == section && known.reason == reason,
            || CutCount { section: section.to_owned(), reason: reason.to_owned(), cuts: 0, tokens: 0 },
        );
        add(&mut known.cuts, cuts);
        add(&mut known.tokens, tokens);
    }

    /// Adds the figures of other requests.
    pub fn add(&mut self, other: &PromptCounts) {
        add(&mut self.requests, other.requests);
        add(&mut self.denied, other.denied);
        for one in &other.policies {
            self.policy(&one.policy, &one.field, true, one.denials);
            self.policy(&one.policy, &one.field, false, one.flags);
        }
        for one in &other.gate {
            let counts = [
                ("refuse", one.refusals),
                ("redact", one.redactions),
                ("route", one.routed),
                ("would_act", one.reported),
            ];
            for (action, count) in counts {
                self.gate(action, &one.rule, &one.field, count);
            }
        }
        for one in &other.cuts {
            self.cuts(&one.section, &one.reason, one.cuts, one.tokens);
        }
    }

    /// The same figures in the order of their names, whatever order they were counted in.
    #[must_use]
    pub fn sorted(mut self) -> PromptCounts {
        self.policies.sort_by(|one, other| (&one.policy, &one.field).cmp(&(&other.policy, &other.field)));
        self.gate.sort_by(|one, other| (&one.rule, &one.field).cmp(&(&other.rule, &other.field)));
        self.cuts.sort_by(|one, other| (&one.section, &one.reason).cmp(&(&other.section, &other.reason)));
        self
    }
}

fn add(number: &mut u64, more: u64) {
    *number = number.saturating_add(more);
}

/// The item that is meant, made when it is new.
fn entry<T>(list: &mut Vec<T>, is_meant: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let place = list.iter().position(is_meant).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_several_requests_add_up_by_name() {
        let mut one = PromptCounts { requests: 1, denied: 1, ..PromptCounts::default() };
        one.policy("no_injection", "intent", true, 1);
        one.gate("redact", "api_key", "input", 2);
        one.cut("context", "budget", 40);
        let mut other = PromptCounts { requests: 2, ..PromptCounts::default() };
        other.policy("no_injection", "intent", false, 3);
        other.policy("approved_models", "model", false, 1);
        other.gate("refuse", "api_key", "input", 1);
        other.cut("context", "budget", 2);
        one.add(&other);
        let sum = one.sorted().write().to_string();
        assert_eq!(
            sum,
            r#"{"requests":3,"denied":1,"policies":[{"policy":"approved_models","field":"model","denials":0,"flags":1},{"policy":"no_injection","field":"intent","denials":1,"flags":3}],"gate":[{"rule":"api_key","field":"input","refusals":1,"redactions":2,"routed":0,"reported":0}],"cuts":[{"section":"context","reason":"budget","cuts":2,"tokens":42}]}"#
        );
    }
}
