//! A hit of a policy.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use stave_canon::{Pointer, Value};

use super::policy::{Pattern, Policy, PolicyAction, Quantity};

/// Which field of a prompt, and which of its items.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PromptField {
    Intent,
    ContextRefs(usize),
    Constraints(usize),
    /// A text that the prompt carries along: in its metadata, its output requirements or its role.
    Carried(Pointer),
    /// What a reference resolved to.
    Content(String),
    /// The model that is asked.
    Model,
    Quantity(Quantity),
}

/// One forbidden text found in one item. It prints as the specification's sentence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The policy's name.
    pub policy: Arc<str>,
    pub action: PolicyAction,
    pub field: PromptField,
    /// The forbidden text as the policy writes it; for a number, the bound that it breaks.
    pub pattern: Arc<str>,
    /// The whole item it was found in.
    pub item: Arc<str>,
    /// The bytes of `item` that matched: its first occurrence.
    pub range: Range<usize>,
    wording: Wording,
}

/// How the sentence of a violation is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Wording {
    /// The pattern was found.
    Pattern,
    /// It says what matched, because the pattern is an expression that nobody wants to read.
    Match,
    /// The pattern was found in the path that a reference leads to.
    Path,
    /// The item is not one of those that the policy allows.
    Outside,
}

impl PromptField {
    /// The pointer to the field, or to its item, in the prompt's dictionary.
    #[must_use]
    pub fn pointer(&self) -> Pointer {
        match self {
            PromptField::Intent => Pointer::root().key("intent"),
            PromptField::ContextRefs(index) => Pointer::root().key("context_refs").index(*index),
            PromptField::Constraints(index) => Pointer::root().key("constraints").index(*index),
            PromptField::Carried(pointer) => pointer.clone(),
            PromptField::Content(_) => Pointer::root().key("context_refs"),
            PromptField::Model => Pointer::root().key("model_hint"),
            PromptField::Quantity(quantity) => Pointer::root().key(quantity.word()),
        }
    }
}

impl PromptField {
    /// The field's name for figures, which say nothing about items: `metadata` for every text in it.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            PromptField::Intent => "intent",
            PromptField::ContextRefs(_) => "context_refs",
            PromptField::Constraints(_) => "constraints",
            PromptField::Carried(pointer) => {
                pointer.as_str().split('/').nth(1).filter(|key| !key.is_empty()).unwrap_or("metadata")
            }
            PromptField::Content(_) => "content",
            PromptField::Model => "model",
            PromptField::Quantity(quantity) => quantity.word(),
        }
    }
}

impl Violation {
    pub(super) fn new(
        policy: &Policy,
        field: PromptField,
        pattern: &Pattern,
        item: &str,
        range: Range<usize>,
    ) -> Self {
        let wording = if pattern.expression().is_some() { Wording::Match } else { Wording::Pattern };
        Violation { wording, ..Violation::of(policy, field, pattern.shared(), item, range) }
    }

    pub(super) fn of(
        policy: &Policy,
        field: PromptField,
        pattern: Arc<str>,
        item: &str,
        range: Range<usize>,
    ) -> Self {
        let policy_name = policy.shared_name();
        let (action, item) = (policy.action(), item.into());
        Violation { policy: policy_name, action, field, pattern, item, range, wording: Wording::Pattern }
    }

    /// The violation of an item that is not one of those that a policy allows.
    pub(super) fn outside(policy: &Policy, field: PromptField, named: Arc<str>, item: &str) -> Self {
        let found = Violation::of(policy, field, named, item, 0..item.len());
        Violation { wording: Wording::Outside, ..found }
    }

    /// Says that it was found in the path of a content and not in its text.
    pub(super) fn say_path(&mut self) {
        self.wording = Wording::Path;
    }

    /// What the policy objects to, as the end of a sentence about it.
    #[must_use]
    pub fn objection(&self) -> String {
        let Violation { field, pattern, .. } = self;
        match self.wording {
            Wording::Outside => format!("allows nothing {pattern}: {field}"),
            Wording::Path => format!("forbids `{pattern}` in the path of {field}"),
            Wording::Pattern | Wording::Match => format!("forbids `{pattern}` in {field}"),
        }
    }

    /// Everything about the violation, for programs.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let (kind, index): (&str, Value) = match &self.field {
            PromptField::Intent => ("intent", Value::Null),
            PromptField::ContextRefs(index) => ("context_refs", (*index as u64).into()),
            PromptField::Constraints(index) => ("constraints", (*index as u64).into()),
            PromptField::Carried(pointer) => (pointer.as_str(), Value::Null),
            PromptField::Content(_) => ("content", Value::Null),
            PromptField::Model => ("model", Value::Null),
            PromptField::Quantity(quantity) => (quantity.word(), Value::Null),
        };
        let mut members = vec![
            ("policy", Value::from(&*self.policy)),
            ("action", self.action.word().into()),
            ("field", kind.into()),
            ("index", index),
            ("pattern", (&*self.pattern).into()),
            ("matched", self.matched().into()),
            ("span", vec![self.range.start as u64, self.range.end as u64].into()),
            ("text", self.to_string().into()),
        ];
        if let PromptField::Content(reference) = &self.field {
            members.insert(3, ("reference", reference.as_str().into()));
        }
        Value::from_iter(members)
    }

    /// The matched text as it is in the prompt.
    #[must_use]
    pub fn matched(&self) -> &str {
        self.item.get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { policy, action, field, item, .. } = self;
        let pattern = if self.wording == Wording::Match { self.matched() } else { &self.pattern };
        write!(out, "{}: {policy} - ", action.shout())?;
        match (field, self.wording) {
            (PromptField::Content(reference), Wording::Outside) => {
                return write!(out, "Context ref '{reference}' leads to '{item}', {pattern}");
            }
            (PromptField::Content(reference), Wording::Path) => {
                let leads = "which matches forbidden pattern";
                return write!(out, "Context ref '{reference}' leads to '{item}', {leads} '{pattern}'");
            }
            (PromptField::Model, Wording::Outside) => return write!(out, "Model '{item}' is {pattern}"),
            (_, Wording::Outside) => return write!(out, "Context ref '{item}' is {pattern}"),
            _ => {}
        }
        match field {
            PromptField::ContextRefs(_) => {
                write!(out, "Context ref '{item}' matches forbidden pattern '{pattern}'")
            }
            PromptField::Intent => write!(out, "Intent contains forbidden keyword '{pattern}'"),
            PromptField::Constraints(_) => write!(out, "Constraint contains forbidden keyword '{pattern}'"),
            PromptField::Carried(pointer) => write!(out, "{pointer} contains forbidden keyword '{pattern}'"),
            PromptField::Content(reference) => {
                write!(out, "Content of '{reference}' contains forbidden keyword '{pattern}'")
            }
            PromptField::Model => write!(out, "Model '{item}' matches forbidden pattern '{pattern}'"),
            PromptField::Quantity(quantity) => write!(out, "{} is {item}, {pattern}", quantity.word()),
        }
    }
}

impl fmt::Display for PromptField {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromptField::Intent => out.write_str("the intent"),
            PromptField::ContextRefs(index) => write!(out, "context reference {}", index + 1),
            PromptField::Constraints(index) => write!(out, "constraint {}", index + 1),
            PromptField::Carried(pointer) => write!(out, "`{pointer}`"),
            PromptField::Content(reference) => write!(out, "the content of `{reference}`"),
            PromptField::Model => out.write_str("the model"),
            PromptField::Quantity(quantity) => write!(out, "`{}`", quantity.word()),
        }
    }
}
