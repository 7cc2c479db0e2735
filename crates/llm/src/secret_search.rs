//! Finds secrets in what others say, also in the forms that an echo gives them.
//!
//! A host that is sent a secret may repeat it encoded ([`forms`]), and what it says may be escaped, spread out or
//! written as numbers ([`view`]). Both together are found, in this order: an encoding or two; byte values or hexadecimal
//! digits with anything between them; up to three layers of escapes for URLs, JSON and HTML. White space and characters
//! without width may be anywhere between the characters of an encoded secret, and as escapes too.
//!
//! Limits: a secret of fewer than [`SHORTEST`] bytes is not looked for, since it would be found everywhere. What is
//! compressed, encrypted, or cut into parts with other text between them is not found, nor are other orders: a text that was
//! escaped first and then encoded, or three encodings.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::Secret;

mod beginnings;
mod escapes;
mod forms;
mod numbers;
mod seen;
mod values;
mod view;

pub use beginnings::SecretBeginnings;
use forms::Forms;
use view::{Aspect, Extent, each_reading};

/// The replacement of a secret.
pub const REPLACEMENT: &str = "[secret]";

/// A secret shorter than this is not looked for.
const SHORTEST: usize = 4;

/// From this length on, letters may be in either case and white space may be between them.
const DISTINCT: usize = 8;

/// Looks for a set of secrets.
#[derive(Clone, Default)]
pub struct SecretSearch {
    /// The forms of short secrets, found as they are written.
    written: Option<AhoCorasick>,
    /// The forms of other secrets, found in either case in a text as it is seen.
    seen: Option<AhoCorasick>,
    /// Forms in hexadecimal digits.
    digits: Option<AhoCorasick>,
}

impl std::fmt::Debug for SecretSearch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SecretSearch(redacted)")
    }
}

impl SecretSearch {
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> SecretSearch {
        let Forms { written, seen, digits } = Forms::of(secrets);
        SecretSearch {
            written: automaton(&written, false),
            seen: automaton(&seen, true),
            digits: automaton(&digits, false),
        }
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // Every secret has a form in digits.
        self.digits.is_none()
    }

    /// The places of secrets: in order, apart from each other.
    #[must_use]
    pub fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.is_empty() {
            return found;
        }
        each_reading(bytes, Extent::Whole, &mut |aspect, reading| {
            let automaton = match aspect {
                Aspect::Written => &self.written,
                Aspect::Seen => &self.seen,
                Aspect::Digits => &self.digits,
            };
            let Some(automaton) = automaton else { return };
            let hits: Vec<_> =
                automaton.find_overlapping_iter(&*reading.bytes).map(|hit| hit.range()).collect();
            if !hits.is_empty() {
                found.extend(reading.places(merged(hits)));
            }
        });
        merged(found)
    }

    /// Whether a text has a secret in it.
    #[must_use]
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        !self.find(bytes).is_empty()
    }

    /// The text with [`REPLACEMENT`] in the place of secrets.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.find(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut hidden, mut at) = (String::with_capacity(text.len()), 0);
        for range in found {
            let start = text.floor_char_boundary(range.start.max(at));
            let end = text.ceil_char_boundary(range.end);
            hidden.push_str(text.get(at..start).unwrap_or_default());
            hidden.push_str(REPLACEMENT);
            at = end;
        }
        hidden.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(hidden)
    }
}

fn automaton(forms: &BTreeSet<Vec<u8>>, folds: bool) -> Option<AhoCorasick> {
    if forms.is_empty() {
        return None;
    }
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(folds).kind(Some(AhoCorasickKind::ContiguousNFA));
    // It fails only for more forms than a number can count.
    builder.build(forms).ok()
}

/// Ranges in order, with those that touch made one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
