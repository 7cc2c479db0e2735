//! `[gate]`: what the gate looks for on the way to models, beside the formats that it knows; and what it does with what it
//! finds.
//!
//! Invariant: only the project's own file sets this. Nothing of it is baked into documents, so no flow can list its own
//! secrets as harmless, or have the gate only report.

use std::collections::BTreeMap;
use std::sync::Arc;

use stave_block::{
    BadGateRule, GateAction, GateRules, MOST_GATE_RULES, OwnRule, Provenance, Sensitivity, SensitivityPolicy,
    check_rule_name, gate_regex,
};
use stave_shape::{FaultKind, Place, Reader, Shape, ValueNode};

use super::Settings;

/// What a project sets about the gate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GateSettings {
    pub rules: Arc<GateRules>,
    pub report_only: bool,
    /// The labels of content by where it came from.
    pub provenance: Vec<(Provenance, Sensitivity)>,
}

/// The gate, which looks for secrets and labelled content in every model request of flows and of the gateway.
#[derive(Debug, Default, Shape)]
#[shape(not_null, check = rules_are_usable)]
pub(super) struct GateTable {
    /// Further rules for what content looks like that not everyone may see; 128 at most.
    #[shape(default)]
    rules: Vec<GateRuleTable>,
    /// Values that no rule counts, such as the keys of examples; 128 at most.
    #[shape(default)]
    allow: Vec<String>,
    /// Regular expressions for whole values that no rule counts; 128 at most.
    #[shape(default)]
    allow_regex: Vec<String>,
    /// Whether the gate only records what it would do, and sends every request as it is.
    #[shape(default)]
    report_only: bool,
}

/// A rule of the project.
#[derive(Debug, Shape)]
#[shape(not_null)]
pub(super) struct GateRuleTable {
    /// The name that records and redacted places have: letters, digits, `_` and `-`.
    name: String,
    /// `private` or `restricted`.
    label: Sensitivity,
    /// A regular expression of up to 1024 bytes.
    regex: String,
}

/// The least sensitivity of content by where it came from.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct ProvenanceTable {
    /// Instructions for the model.
    system: Option<Sensitivity>,
    /// Texts that the author of the flow wrote.
    developer: Option<Sensitivity>,
    /// What was remembered, and earlier answers of the model.
    memory: Option<Sensitivity>,
    /// Results of tools.
    tool: Option<Sensitivity>,
    /// Documents that were retrieved.
    retrieval: Option<Sensitivity>,
    /// What users wrote.
    user: Option<Sensitivity>,
}

fn rules_are_usable<N: ValueNode>(table: Option<&GateTable>, node: N, at: &Place<'_>, reader: &mut Reader) {
    let Some(table) = table else { return };
    let mut has_faults = false;
    let mut fault = |at: &Place<'_>, node: N, error: &BadGateRule| {
        has_faults = true;
        reader.fault(at, node.span(), FaultKind::rule("value", error.to_string()));
    };
    let mut names: Vec<String> = Vec::new();
    if let Some(rules) = node.member("rules") {
        let place = at.key("rules");
        let mut index = 0;
        rules.items(|item| {
            let place = place.index(index);
            index += 1;
            if index == MOST_GATE_RULES + 1 {
                fault(&place, item, &BadGateRule::Many);
            }
            if index > MOST_GATE_RULES {
                return;
            }
            if let Some(member) = item.member("name")
                && let Some(name) = member.text()
            {
                let place = place.key("name");
                match check_rule_name(name) {
                    Err(error) => fault(&place, member, &error),
                    Ok(()) if names.iter().any(|known| known == name) => {
                        fault(&place, member, &BadGateRule::NameTaken(name.to_owned()));
                    }
                    Ok(()) => names.push(name.to_owned()),
                }
            }
            if let Some(member) = item.member("label")
                && member.text() == Some(Sensitivity::Public.word())
            {
                fault(&place.key("label"), member, &BadGateRule::Public);
            }
            if let Some(member) = item.member("regex")
                && let Some(regex) = member.text()
                && let Err(error) = gate_regex(regex)
            {
                fault(&place.key("regex"), member, &error);
            }
        });
    }
    for key in ["allow", "allow_regex"] {
        let Some(list) = node.member(key) else { continue };
        let place = at.key(key);
        let mut index = 0;
        list.items(|item| {
            let place = place.index(index);
            index += 1;
            if index == MOST_GATE_RULES + 1 {
                fault(&place, item, &BadGateRule::Many);
            } else if key == "allow_regex"
                && index <= MOST_GATE_RULES
                && let Some(regex) = item.text()
                && let Err(error) = gate_regex(regex)
            {
                fault(&place, item, &error);
            }
        });
    }
    // What no entry has alone: the name of a rule that every project has, or too much together.
    if !has_faults && let Err(error) = table.gate_rules() {
        let kind = FaultKind::rule("value", error.to_string());
        reader.fault(&at.key("rules"), node.member("rules").and_then(ValueNode::span).or(node.span()), kind);
    }
}

impl GateTable {
    fn gate_rules(&self) -> Result<GateRules, BadGateRule> {
        let own = |rule: &GateRuleTable| OwnRule {
            name: rule.name.clone(),
            label: rule.label,
            regex: rule.regex.clone(),
        };
        let rules = self.rules.iter().map(own).collect();
        GateRules::new(rules, self.allow.clone(), self.allow_regex.clone())
    }

    /// What the file says. A table with faults was reported and is left at what every project has.
    pub(super) fn settings(self, provenance: &ProvenanceTable) -> GateSettings {
        GateSettings {
            rules: Arc::new(self.gate_rules().unwrap_or_default()),
            report_only: self.report_only,
            provenance: provenance.labels(),
        }
    }
}

impl ProvenanceTable {
    fn labels(&self) -> Vec<(Provenance, Sensitivity)> {
        let labels = [
            (Provenance::System, self.system),
            (Provenance::Developer, self.developer),
            (Provenance::Memory, self.memory),
            (Provenance::Tool, self.tool),
            (Provenance::Retrieval, self.retrieval),
            (Provenance::User, self.user),
        ];
        labels.into_iter().filter_map(|(from, label)| Some((from, label?))).collect()
    }
}

/// The labels of requests to the gateway, at the least.
#[derive(Debug, Default, Shape)]
#[shape(not_null, check = headers_have_names)]
pub(super) struct RequestLabelsTable {
    /// The label of all requests of a virtual key, by the key's name.
    #[shape(default)]
    pub(super) keys: BTreeMap<String, Sensitivity>,
    /// The labels of requests by the name of a header, and its value in any letter case; `*` is any other value.
    #[shape(default)]
    pub(super) headers: BTreeMap<String, BTreeMap<String, Sensitivity>>,
}

fn headers_have_names<N: ValueNode>(
    labels: Option<&RequestLabelsTable>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(headers) = node.member("headers").filter(|_| labels.is_some()) else { return };
    let mut known: Vec<String> = Vec::new();
    headers.members(|key, member| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let name = key.text.to_ascii_lowercase();
        let message = if name.is_empty() || !name.bytes().all(is_letter) {
            "must be the name of a header"
        } else if known.contains(&name) {
            "names a header that is listed already"
        } else {
            known.push(name);
            return;
        };
        reader.fault(&at.key("headers").key(key.text), member.span(), FaultKind::rule("value", message));
    });
}

impl Settings {
    /// What is done with sensitive content on its way to models, in flows and in the gateway.
    pub fn sensitivity_policy(&self) -> SensitivityPolicy {
        let mut policy = SensitivityPolicy {
            provenance: self.gate.provenance.clone(),
            rules: Arc::clone(&self.gate.rules),
            report_only: self.gate.report_only,
            ..SensitivityPolicy::default()
        };
        if let Some(action) = self.restricted.as_deref().and_then(GateAction::from_words) {
            policy.restricted = action.clone();
            policy.block = Some(action);
        }
        policy
    }
}
