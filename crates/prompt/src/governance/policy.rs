//! A policy as data.
//!
//! Invariant: a policy that was read names a known type and a known action. A policy that could not
//! match anything because of a misspelt word would silently protect nothing, so it is refused.

use std::fmt;

use stave_canon::{Object, Pointer, Value};
use thiserror::Error;

/// Which field a policy looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolicyType {
    /// Patterns in each context reference, case-sensitive.
    ContextRef,
    /// Keywords in the intent, in any letter case.
    Intent,
    /// Keywords in each constraint, in any letter case.
    Constraint,
}

/// What a violation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// The prompt is refused.
    Deny,
    /// The violation is recorded and the prompt goes on.
    Flag,
}

/// One rule: texts that must not occur in one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    name: String,
    policy_type: PolicyType,
    action: Action,
    patterns: Vec<Pattern>,
}

/// A forbidden text, kept as written for messages and lowered for matching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    written: String,
    lowered: String,
}

/// One thing wrong with a list of policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFault {
    pub pointer: Pointer,
    pub message: String,
}

/// A list of policies that can not be used, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct InvalidPolicies {
    pub faults: Vec<PolicyFault>,
}

impl PolicyType {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            PolicyType::ContextRef => "context_ref",
            PolicyType::Intent => "intent",
            PolicyType::Constraint => "constraint",
        }
    }

    /// The key under which a policy of this type lists what it forbids.
    #[must_use]
    pub fn list_key(self) -> &'static str {
        match self {
            PolicyType::ContextRef => "forbidden_patterns",
            PolicyType::Intent | PolicyType::Constraint => "forbidden_keywords",
        }
    }
}

impl Action {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Action::Deny => "deny",
            Action::Flag => "flag",
        }
    }

    /// The word that begins a violation's sentence.
    #[must_use]
    pub fn shout(self) -> &'static str {
        match self {
            Action::Deny => "DENY",
            Action::Flag => "FLAG",
        }
    }
}

impl Policy {
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        policy_type: PolicyType,
        patterns: impl IntoIterator<Item = String>,
        action: Action,
    ) -> Self {
        let patterns = patterns.into_iter().map(Pattern::new).collect();
        Policy { name: name.into(), policy_type, action, patterns }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn policy_type(&self) -> PolicyType {
        self.policy_type
    }

    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// The forbidden texts as written.
    pub fn forbidden(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(Pattern::written)
    }

    pub(super) fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.patterns.iter()
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        let forbidden: Vec<&str> = self.forbidden().collect();
        Value::from_iter([
            ("name", Value::from(self.name.as_str())),
            ("type", self.policy_type.word().into()),
            (self.policy_type.list_key(), forbidden.into()),
            ("action", self.action.word().into()),
        ])
    }
}

impl Pattern {
    fn new(written: String) -> Self {
        Pattern { lowered: written.to_lowercase(), written }
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    pub(super) fn lowered(&self) -> &str {
        &self.lowered
    }
}

pub(super) fn read_list(value: &Value) -> Result<Vec<Policy>, InvalidPolicies> {
    let mut reader = Reader::default();
    let Some(items) = value.as_array() else {
        reader.fault(Pointer::root(), format!("expected an array of policies, found {}", value.kind()));
        return Err(InvalidPolicies { faults: reader.faults });
    };
    let policies: Vec<Policy> = items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| reader.policy(&Pointer::root().index(index), item))
        .collect();
    if reader.faults.is_empty() { Ok(policies) } else { Err(InvalidPolicies { faults: reader.faults }) }
}

#[derive(Default)]
struct Reader {
    faults: Vec<PolicyFault>,
}

impl Reader {
    fn fault(&mut self, pointer: Pointer, message: String) {
        self.faults.push(PolicyFault { pointer, message });
    }

    fn policy(&mut self, at: &Pointer, value: &Value) -> Option<Policy> {
        let Some(object) = value.as_object() else {
            self.fault(at.clone(), format!("expected an object, found {}", value.kind()));
            return None;
        };
        let name = self.text(at, object, "name");
        let policy_type = self.text(at, object, "type").and_then(|word| {
            let found = [PolicyType::ContextRef, PolicyType::Intent, PolicyType::Constraint]
                .into_iter()
                .find(|policy_type| policy_type.word() == word);
            if found.is_none() {
                let message = format!("{word:?} is not one of `context_ref`, `intent`, `constraint`");
                self.fault(at.key("type"), message);
            }
            found
        });
        let action = self.text(at, object, "action").and_then(|word| {
            let found =
                [Action::Deny, Action::Flag].into_iter().find(|action| action.word() == word.to_lowercase());
            if found.is_none() {
                self.fault(at.key("action"), format!("{word:?} is not one of `deny`, `flag`"));
            }
            found
        });
        let (name, policy_type, action) = (name?, policy_type?, action?);
        let patterns = self.patterns(at, object, policy_type.list_key())?;
        Some(Policy::new(name, policy_type, patterns, action))
    }

    fn text(&mut self, at: &Pointer, object: &Object, key: &str) -> Option<String> {
        match object.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                self.fault(at.key(key), format!("expected string, found {}", other.kind()));
                None
            }
            None => {
                self.fault(at.clone(), format!("the field `{key}` is missing"));
                None
            }
        }
    }

    /// What a policy forbids. No list forbids nothing. A plain string stands for the list of its
    /// characters, which is how such policies have always been read.
    fn patterns(&mut self, at: &Pointer, object: &Object, key: &str) -> Option<Vec<String>> {
        match object.get(key) {
            None => Some(Vec::new()),
            Some(Value::String(characters)) => Some(characters.chars().map(String::from).collect()),
            Some(Value::Array(items)) => {
                let before = self.faults.len();
                for (index, item) in items.iter().enumerate().filter(|(_, item)| item.as_str().is_none()) {
                    let message = format!("expected string, found {}", item.kind());
                    self.fault(at.key(key).index(index), message);
                }
                let texts = items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect();
                (self.faults.len() == before).then_some(texts)
            }
            Some(other) => {
                self.fault(at.key(key), format!("expected an array of strings, found {}", other.kind()));
                None
            }
        }
    }
}

impl fmt::Display for InvalidPolicies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("invalid policies: ")?;
        for (index, fault) in self.faults.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let place = if fault.pointer.as_str().is_empty() { "" } else { ": " };
            write!(out, "{separator}{}{place}{}", fault.pointer, fault.message)?;
        }
        Ok(())
    }
}
