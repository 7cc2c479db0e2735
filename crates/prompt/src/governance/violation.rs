//! A hit of a policy.

use std::fmt;
use std::ops::Range;

use stave_canon::Pointer;

use super::Action;
use super::policy::{Pattern, Policy};

/// Which field of a prompt, and which of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    Intent,
    ContextRefs(usize),
    Constraints(usize),
}

/// One forbidden text found in one item. It prints as the specification's sentence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Violation {
    /// The policy's name.
    pub policy: String,
    pub action: Action,
    pub field: Field,
    /// The forbidden text as the policy writes it.
    pub pattern: String,
    /// The whole item it was found in.
    pub item: String,
    /// The bytes of `item` that matched: its first occurrence.
    pub range: Range<usize>,
}

impl Field {
    /// The pointer to the field, or to its item, in the prompt's dictionary.
    #[must_use]
    pub fn pointer(self) -> Pointer {
        match self {
            Field::Intent => Pointer::root().key("intent"),
            Field::ContextRefs(index) => Pointer::root().key("context_refs").index(index),
            Field::Constraints(index) => Pointer::root().key("constraints").index(index),
        }
    }
}

impl Violation {
    pub(super) fn new(
        policy: &Policy,
        field: Field,
        pattern: &Pattern,
        item: &str,
        range: Range<usize>,
    ) -> Self {
        Violation {
            policy: policy.name().to_owned(),
            action: policy.action(),
            field,
            pattern: pattern.written().to_owned(),
            item: item.to_owned(),
            range,
        }
    }

    /// The matched text as it stands in the prompt.
    #[must_use]
    pub fn matched(&self) -> &str {
        self.item.get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { policy, action, field, pattern, item, .. } = self;
        write!(out, "{}: {policy} - ", action.shout())?;
        match field {
            Field::ContextRefs(_) => {
                write!(out, "Context ref '{item}' matches forbidden pattern '{pattern}'")
            }
            Field::Intent => write!(out, "Intent contains forbidden keyword '{pattern}'"),
            Field::Constraints(_) => write!(out, "Constraint contains forbidden keyword '{pattern}'"),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Field::Intent => out.write_str("the intent"),
            Field::ContextRefs(index) => write!(out, "context reference {}", index + 1),
            Field::Constraints(index) => write!(out, "constraint {}", index + 1),
        }
    }
}
