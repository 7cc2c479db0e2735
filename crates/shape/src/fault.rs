//! What can be wrong with a value. Every document uses the same sentences.

use std::fmt;
use std::ops::Range;

use stave_canon::Pointer;

/// One thing wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The faulty value, or the object that lacks a key.
    pub pointer: Pointer,
    /// Where it is written, if the document knows; an unknown key has the place of the key.
    pub span: Option<Range<usize>>,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    MissingKey(&'static str),
    UnknownKey {
        key: String,
        known: &'static [&'static str],
    },
    WrongType {
        wanted: &'static str,
        found: &'static str,
    },
    OutOfRange {
        /// Such as `at least 1`.
        wanted: String,
        found: String,
    },
    /// A string without a character, or with white space only.
    Empty(&'static str),
    /// An array without an item.
    NoItems,
    /// A string that is not one of the allowed words.
    UnknownWord {
        words: &'static [&'static str],
        found: String,
    },
    /// A string that is not of the form it must have.
    WrongForm {
        wanted: &'static str,
        found: String,
    },
    /// A key that says which document this is holds another value.
    WrongMark {
        /// Both as JSON.
        wanted: String,
        found: String,
    },
    /// What only this document asks for; the rule names it for the caller.
    Rule {
        rule: &'static str,
        message: String,
    },
}

impl FaultKind {
    /// A fault with a sentence of its own.
    pub fn rule(rule: &'static str, message: impl Into<String>) -> Self {
        FaultKind::Rule { rule, message: message.into() }
    }

    /// The sentence for people who write the document by hand: with the fields and words that are known.
    #[must_use]
    pub fn explained(&self) -> String {
        match self {
            FaultKind::MissingKey(key) => format!("the field `{key}` is missing"),
            FaultKind::UnknownKey { key, known } => {
                format!("`{key}` means nothing here; known are {}", known.join(", "))
            }
            FaultKind::UnknownWord { words, found } => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("{found:?} is not one of {}", words.join(", "))
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::MissingKey(key) => write!(out, "`{key}` is missing"),
            FaultKind::UnknownKey { key, .. } => write!(out, "`{key}` is not a key of this object"),
            FaultKind::WrongType { wanted, found } => write!(out, "must be {wanted}, not {found}"),
            FaultKind::OutOfRange { wanted, found } | FaultKind::WrongMark { wanted, found } => {
                write!(out, "must be {wanted}, not {found}")
            }
            FaultKind::Empty(what) => write!(out, "must not be {what}"),
            FaultKind::NoItems => out.write_str("must have at least one item"),
            FaultKind::UnknownWord { words, found } => {
                write!(out, "must be {}, not {found:?}", one_of(words))
            }
            FaultKind::WrongForm { wanted, found } => write!(out, "must be {wanted}, not {found:?}"),
            FaultKind::Rule { message, .. } => out.write_str(message),
        }
    }
}

/// `"a"`, `"a" or "b"`, `"a", "b" or "c"`.
fn one_of(words: &[&str]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        let before = match index {
            0 => "",
            _ if index + 1 == words.len() => " or ",
            _ => ", ",
        };
        text.push_str(&format!("{before}\"{word}\""));
    }
    text
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.as_str().is_empty() { "" } else { ": " };
        write!(out, "{}{place}{}", self.pointer, self.kind)
    }
}

/// Everything that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(out, "{separator}{fault}")?;
        }
        Ok(())
    }
}
