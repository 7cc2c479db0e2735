//! Policies as data: one form for each kind of policy, told apart by `type`.

use stave_canon::{Number, Value};
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

use super::MatchMode;
use super::policy::{Bounds, Matching, Policy, PolicyAction, PolicyType, Quantity};

/// The rule of faults that only policies have.
const RULE: &str = "policy";

/// A set of policies, and how they are compared.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null, name = "PolicySet")]
pub(super) struct PolicySetForm {
    /// How texts are compared where a policy does not say: as words and paths, or byte by byte.
    #[shape(default = MatchMode::Strict)]
    pub(super) mode: MatchMode,
    /// Adds the policies to the built-in ones, which they replace otherwise.
    pub(super) extends: Option<Base>,
    /// Phrases around which no policy finds anything.
    #[shape(default)]
    pub(super) allow: Vec<String>,
    /// The policies; the built-in ones when absent.
    pub(super) policies: Option<Vec<Policy>>,
}

/// The policies that a set may extend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(super) enum Base {
    Default,
}

/// One policy.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(tag = "type", otherwise = PolicyHead, name = "Policy")]
pub(super) enum PolicyForm {
    ContextRef(ReferencePolicy),
    #[shape(rename = "intent", or = "constraint", or = "metadata", or = "content")]
    Keywords(KeywordPolicy),
    Model(ModelPolicy),
    Number(NumberPolicy),
}

/// What every policy has.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(super) struct PolicyHead {
    name: String,
    #[shape(with = action)]
    action: PolicyAction,
}

/// Forbids places that context references may name.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(super) struct ReferencePolicy {
    /// The name in violations.
    name: String,
    #[shape(rename = "type")]
    policy_type: PolicyType,
    /// What no reference may match.
    #[shape(default, with = patterns)]
    forbidden_patterns: Vec<String>,
    /// How the patterns are compared; the set's mode decides when absent.
    #[shape(rename = "match")]
    matching: Option<Matching>,
    /// Texts around which the policy makes an exception.
    #[shape(default, omit_default)]
    allow: Vec<String>,
    /// The only places that references may name.
    #[shape(default, omit_default)]
    only: Vec<String>,
    #[shape(with = action)]
    action: PolicyAction,
}

/// Forbids keywords in the intent, in constraints, in metadata or in content.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(super) struct KeywordPolicy {
    /// The name in violations.
    name: String,
    #[shape(rename = "type")]
    policy_type: PolicyType,
    /// What the text may not hold.
    #[shape(default, with = patterns)]
    forbidden_keywords: Vec<String>,
    /// How the keywords are compared; the set's mode decides when absent.
    #[shape(rename = "match", with = text_matching)]
    matching: Option<Matching>,
    /// Texts around which the policy makes an exception.
    #[shape(default, omit_default)]
    allow: Vec<String>,
    /// Empty: only a policy of type `context_ref` names places.
    #[shape(default, omit_default, with = no_places)]
    only: Vec<String>,
    #[shape(with = action)]
    action: PolicyAction,
}

/// Says which models may be asked.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null, check = names_models)]
pub(super) struct ModelPolicy {
    /// The name in violations.
    name: String,
    #[shape(rename = "type")]
    policy_type: PolicyType,
    /// Models that may not be asked: a provider, a model or `provider/model`, with `*` for anything.
    #[shape(default)]
    forbidden_models: Vec<String>,
    /// The only models that may be asked.
    #[shape(default, omit_default)]
    only: Vec<String>,
    #[shape(with = action)]
    action: PolicyAction,
}

/// Bounds a number.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null, check = has_a_bound)]
pub(super) struct NumberPolicy {
    /// The name in violations.
    name: String,
    #[shape(rename = "type")]
    policy_type: PolicyType,
    /// The number.
    field: Quantity,
    /// The least that it may be.
    #[shape(with = finite)]
    minimum: Option<Number>,
    /// The most that it may be.
    #[shape(with = finite)]
    maximum: Option<Number>,
    #[shape(with = action)]
    action: PolicyAction,
}

/// A policy that was read can be used: its expressions are prepared.
impl Shape for Policy {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let (policy, matching, list_key) = match PolicyForm::read(node, at, reader)? {
            PolicyForm::ContextRef(form) => {
                let policy = Policy::new(form.name, form.policy_type, form.forbidden_patterns, form.action);
                (policy.allow(form.allow).only(form.only), form.matching, "forbidden_patterns")
            }
            PolicyForm::Keywords(form) => {
                let policy = Policy::new(form.name, form.policy_type, form.forbidden_keywords, form.action);
                (policy.allow(form.allow), form.matching, "forbidden_keywords")
            }
            PolicyForm::Model(form) => {
                let policy = Policy::new(form.name, form.policy_type, form.forbidden_models, form.action);
                (policy.only(form.only), None, "forbidden_models")
            }
            PolicyForm::Number(form) => {
                let (minimum, maximum) = (form.minimum, form.maximum);
                let bounds = Bounds { quantity: form.field, minimum, maximum };
                (Policy::number(form.name, bounds, form.action), None, "field")
            }
        };
        let Some(matching) = matching else { return Some(policy) };
        match policy.matching(matching) {
            Ok(policy) => Some(policy),
            Err(error) => {
                let kind = FaultKind::rule(RULE, format!("an expression cannot be used: {error}"));
                reader.fault(&at.key(list_key), node.member(list_key).and_then(ValueNode::span), kind);
                None
            }
        }
    }

    fn write(&self) -> Value {
        let (name, policy_type, action) = (self.name().to_owned(), self.policy_type(), self.action());
        let forbidden = || self.forbidden().map(str::to_owned).collect();
        let (matching, allow, only) =
            (self.explicit_matching(), self.allowed().to_vec(), self.only_places().to_vec());
        let form = match (policy_type, self.bounds()) {
            (_, Some(Bounds { quantity, minimum, maximum })) => {
                let (field, minimum, maximum) = (*quantity, minimum.clone(), maximum.clone());
                PolicyForm::Number(NumberPolicy { name, policy_type, field, minimum, maximum, action })
            }
            (PolicyType::ContextRef, None) => {
                let forbidden_patterns = forbidden();
                PolicyForm::ContextRef(ReferencePolicy {
                    name,
                    policy_type,
                    forbidden_patterns,
                    matching,
                    allow,
                    only,
                    action,
                })
            }
            (PolicyType::Model, None) => {
                let forbidden_models = forbidden();
                PolicyForm::Model(ModelPolicy { name, policy_type, forbidden_models, only, action })
            }
            _ => {
                let forbidden_keywords = forbidden();
                PolicyForm::Keywords(KeywordPolicy {
                    name,
                    policy_type,
                    forbidden_keywords,
                    matching,
                    allow,
                    only,
                    action,
                })
            }
        };
        form.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        PolicyForm::schema(definitions)
    }
}

/// The rule holds for what is written; lists that could not be read have faults of their own.
fn names_models<N: ValueNode>(_: Option<&ModelPolicy>, node: N, at: &Place<'_>, reader: &mut Reader) {
    let is_empty = |key: &str| {
        let mut empty = true;
        let list = node.member(key);
        list.inspect(|list| list.items(|_| empty = false));
        empty && list.is_none_or(|list| list.kind() == stave_shape::ValueKind::Array)
    };
    if is_empty("forbidden_models") && is_empty("only") {
        let kind = FaultKind::rule(RULE, "a policy of type `model` needs `forbidden_models` or `only`");
        reader.fault(at, node.span(), kind);
    }
}

fn has_a_bound<N: ValueNode>(_: Option<&NumberPolicy>, node: N, at: &Place<'_>, reader: &mut Reader) {
    if node.member("minimum").is_none() && node.member("maximum").is_none() {
        let kind = FaultKind::rule(RULE, "a policy of type `number` needs `minimum` or `maximum`");
        reader.fault(at, node.span(), kind);
    }
}

/// What a policy forbids. In the specification's own form, whose reader is not closed, a plain string means the
/// list of its characters, which is how such policies have always been read.
mod patterns {
    use stave_canon::Value;
    use stave_shape::{Definitions, Place, Reader, Shape, ValueNode};

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Vec<String>> {
        match node.text() {
            Some(characters) if !reader.closed => Some(characters.chars().map(String::from).collect()),
            _ => Vec::read(node, at, reader),
        }
    }

    pub(super) fn write(patterns: &[String]) -> Value {
        patterns.to_vec().into()
    }

    pub(super) fn schema(definitions: &mut Definitions) -> Value {
        Vec::<String>::schema(definitions)
    }
}

/// How texts that are no places are compared.
mod text_matching {
    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

    use super::{Matching, RULE};

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Matching> {
        let matching = Matching::read(node, at, reader)?;
        if matching == Matching::Path {
            let kind = FaultKind::rule(RULE, "only a policy of type `context_ref` compares paths");
            reader.fault(at, node.span(), kind);
            return None;
        }
        Some(matching)
    }

    pub(super) fn write(matching: &Matching) -> Value {
        matching.write()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        let words = Matching::ALL.iter().filter(|one| **one != Matching::Path).map(|one| one.word());
        Value::from_iter([("enum", words.collect::<Vec<_>>())])
    }
}

/// The places of a policy that names none.
mod no_places {
    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

    use super::RULE;

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Vec<String>> {
        let places = Vec::<String>::read(node, at, reader)?;
        if !places.is_empty() {
            let kind = FaultKind::rule(RULE, "only a policy of type `context_ref` names places");
            reader.fault(at, node.span(), kind);
        }
        Some(places)
    }

    pub(super) fn write(places: &[String]) -> Value {
        places.to_vec().into()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", Value::from("array")), ("maxItems", 0.into())])
    }
}

/// What a violation leads to, in any letter case.
mod action {
    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode, words_schema};

    use super::PolicyAction;

    const WORDS: &[&str] = &["deny", "flag"];

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<PolicyAction> {
        let written = String::read(node, at, reader)?;
        let action = PolicyAction::from_word(&written.to_lowercase());
        if action.is_none() {
            reader.fault(at, node.span(), FaultKind::UnknownWord { words: WORDS, found: written });
        }
        action
    }

    pub(super) fn write(action: &PolicyAction) -> Value {
        action.word().into()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        let any_case = [("type", "string"), ("pattern", "^([Dd][Ee][Nn][Yy]|[Ff][Ll][Aa][Gg])$")];
        let choices = vec![words_schema("", WORDS), Value::from_iter(any_case)];
        Value::from_iter([("anyOf", Value::Array(choices))])
    }
}

/// A number that can be compared.
mod finite {
    use stave_canon::{Number, Value};
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Number> {
        let number = Number::read(node, at, reader)?;
        if !number.as_f64().is_finite() {
            let (wanted, found) = ("a finite number".to_owned(), Value::Number(number).to_string());
            reader.fault(at, node.span(), FaultKind::OutOfRange { wanted, found });
            return None;
        }
        Some(number)
    }

    pub(super) fn write(number: &Number) -> Value {
        Value::Number(number.clone())
    }

    pub(super) fn schema(definitions: &mut Definitions) -> Value {
        Number::schema(definitions)
    }
}
