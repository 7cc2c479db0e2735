//! Policies from data: a list as the specification has it, or an object with a mode.

use std::fmt;

use stave_canon::{Number, Object, Pointer, Value};
use thiserror::Error;

use super::policy::{Action, Bounds, Matching, Policy, PolicyType, Quantity};
use super::{Mode, PolicySet};

/// How much text all patterns of a set may have together.
const PATTERN_BYTES: usize = 1 << 20;

/// One thing wrong with a set of policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFault {
    pub pointer: Pointer,
    pub message: String,
}

/// A set of policies that cannot be used, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct InvalidPolicies {
    pub faults: Vec<PolicyFault>,
}

/// Reads a set. `null` means the specification's policies as specified; a list, these policies as
/// specified; an object may set the mode, extend the default policies and allow phrases.
pub(super) fn read(value: &Value) -> Result<PolicySet, InvalidPolicies> {
    let mut reader = Reader { faults: Vec::new(), whole: value.as_object().is_some(), bytes: 0 };
    let set = match value {
        Value::Null => Some(PolicySet::default()),
        Value::Array(items) => Some(PolicySet::new(reader.policies(&Pointer::root(), items))),
        Value::Object(object) => reader.set(object),
        other => {
            reader.fault(
                Pointer::root(),
                format!("expected an array of policies or an object, found {}", other.kind()),
            );
            None
        }
    };
    match set {
        Some(set) if reader.faults.is_empty() => Ok(set),
        _ => Err(InvalidPolicies { faults: reader.faults }),
    }
}

struct Reader {
    faults: Vec<PolicyFault>,
    /// Whether keys that mean nothing are faults. The specification's own form ignores them.
    whole: bool,
    bytes: usize,
}

impl Reader {
    fn fault(&mut self, pointer: Pointer, message: String) {
        self.faults.push(PolicyFault { pointer, message });
    }

    fn set(&mut self, object: &Object) -> Option<PolicySet> {
        let root = Pointer::root();
        self.known(&root, object, &["mode", "extends", "allow", "policies"]);
        let mode = match object.get("mode").map(|mode| (mode, mode.as_str())) {
            None | Some((_, Some("strict"))) => Mode::Strict,
            Some((_, Some("specified"))) => Mode::Specified,
            Some((other, _)) => {
                self.fault(root.key("mode"), format!("{other} is not one of `strict`, `specified`"));
                return None;
            }
        };
        let extends = match object.get("extends").map(|base| (base, base.as_str())) {
            None => false,
            Some((_, Some("default"))) => true,
            Some((other, _)) => {
                self.fault(root.key("extends"), format!("{other} is not `default`"));
                return None;
            }
        };
        let allow = self.texts(&root, object, "allow").unwrap_or_default();
        let base = match mode {
            Mode::Strict => PolicySet::strict(),
            Mode::Specified => PolicySet::default(),
        };
        let policies = match object.get("policies") {
            None => base.policies().to_vec(),
            Some(Value::Array(items)) => {
                let read = self.policies(&root.key("policies"), items);
                if extends { base.policies().iter().cloned().chain(read).collect() } else { read }
            }
            Some(other) => {
                self.fault(
                    root.key("policies"),
                    format!("expected an array of policies, found {}", other.kind()),
                );
                return None;
            }
        };
        Some(PolicySet::new(policies).with_mode(mode).with_allow(allow))
    }

    fn policies(&mut self, at: &Pointer, items: &[Value]) -> Vec<Policy> {
        items.iter().enumerate().filter_map(|(index, item)| self.policy(&at.index(index), item)).collect()
    }

    fn policy(&mut self, at: &Pointer, value: &Value) -> Option<Policy> {
        let Some(object) = value.as_object() else {
            self.fault(at.clone(), format!("expected an object, found {}", value.kind()));
            return None;
        };
        let name = self.text(at, object, "name");
        let types = PolicyType::ALL.map(|one| (one.word(), one));
        let policy_type = self.word(at, object, "type", &types, str::to_owned);
        let actions = [Action::Deny, Action::Flag].map(|one| (one.word(), one));
        let action = self.word(at, object, "action", &actions, str::to_lowercase);
        let (name, policy_type, action) = (name?, policy_type?, action?);
        if policy_type == PolicyType::Number {
            self.known(at, object, &["name", "type", "action", "field", "minimum", "maximum"]);
            return Some(Policy::number(name, self.bounds(at, object)?, action));
        }
        let list_key = policy_type.list_key();
        if policy_type == PolicyType::Model {
            self.known(at, object, &["name", "type", "action", list_key, "only"]);
            let forbidden = self.texts(at, object, list_key)?;
            let only = self.texts(at, object, "only")?;
            if forbidden.is_empty() && only.is_empty() {
                let message = "a policy of type `model` needs `forbidden_models` or `only`";
                self.fault(at.clone(), message.to_owned());
                return None;
            }
            return Some(Policy::new(name, policy_type, forbidden, action).only(only));
        }
        self.known(at, object, &["name", "type", "action", list_key, "match", "allow", "only"]);
        let patterns = self.patterns(at, object, list_key)?;
        let matching = match object.get("match") {
            None => None,
            Some(_) => {
                let words = Matching::ALL.map(|one| (one.word(), one));
                Some(self.word(at, object, "match", &words, str::to_owned)?)
            }
        };
        let allow = self.texts(at, object, "allow")?;
        let only = self.texts(at, object, "only")?;
        if !only.is_empty() && policy_type != PolicyType::ContextRef {
            self.fault(at.key("only"), "only a policy of type `context_ref` names places".to_owned());
            return None;
        }
        if matching == Some(Matching::Path) && policy_type != PolicyType::ContextRef {
            self.fault(at.key("match"), "only a policy of type `context_ref` compares paths".to_owned());
            return None;
        }
        let policy = Policy::new(name, policy_type, patterns, action).allow(allow).only(only);
        match matching {
            None => Some(policy),
            Some(matching) => match policy.matching(matching) {
                Ok(policy) => Some(policy),
                Err(error) => {
                    self.fault(at.key(list_key), format!("an expression cannot be used: {error}"));
                    None
                }
            },
        }
    }

    fn bounds(&mut self, at: &Pointer, object: &Object) -> Option<Bounds> {
        let words = Quantity::ALL.map(|one| (one.word(), one));
        let quantity = self.word(at, object, "field", &words, str::to_owned)?;
        let mut limit = |key: &str| -> Option<Option<Number>> {
            match object.get(key) {
                None => Some(None),
                Some(Value::Number(number)) if number.as_f64().is_finite() => Some(Some(number.clone())),
                Some(other) => {
                    self.fault(at.key(key), format!("expected a number, found {}", other.kind()));
                    None
                }
            }
        };
        let (minimum, maximum) = (limit("minimum")?, limit("maximum")?);
        if minimum.is_none() && maximum.is_none() {
            self.fault(at.clone(), "a policy of type `number` needs `minimum` or `maximum`".to_owned());
            return None;
        }
        Some(Bounds { quantity, minimum, maximum })
    }

    fn known(&mut self, at: &Pointer, object: &Object, known: &[&str]) {
        if !self.whole {
            return;
        }
        for (key, _) in object.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            self.fault(at.key(key), format!("`{key}` means nothing here; known are {}", known.join(", ")));
        }
    }

    /// One of a few words.
    fn word<T: Copy>(
        &mut self,
        at: &Pointer,
        object: &Object,
        key: &str,
        words: &[(&str, T)],
        form: fn(&str) -> String,
    ) -> Option<T> {
        let written = self.text(at, object, key)?;
        let found = words.iter().find(|(word, _)| *word == form(&written)).map(|(_, one)| *one);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.fault(at.key(key), format!("{written:?} is not one of {}", known.join(", ")));
        }
        found
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
            Some(Value::String(characters)) if !self.whole => {
                Some(characters.chars().map(String::from).collect())
            }
            _ => self.texts(at, object, key),
        }
    }

    /// A list of texts; none when the key is absent.
    fn texts(&mut self, at: &Pointer, object: &Object, key: &str) -> Option<Vec<String>> {
        let items = match object.get(key) {
            None => return Some(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.fault(at.key(key), format!("expected an array of strings, found {}", other.kind()));
                return None;
            }
        };
        let before = self.faults.len();
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.as_str().is_none()) {
            self.fault(at.key(key).index(index), format!("expected string, found {}", item.kind()));
        }
        let texts: Vec<String> = items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect();
        self.bytes = self.bytes.saturating_add(texts.iter().map(String::len).sum());
        if self.bytes > PATTERN_BYTES {
            self.fault(
                at.key(key),
                format!("the texts of all policies are longer than {PATTERN_BYTES} bytes"),
            );
        }
        (self.faults.len() == before).then_some(texts)
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
