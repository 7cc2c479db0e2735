//! Finds secrets in what others say, also in the forms that an echo gives them.
//!
//! A host that is sent a secret may repeat it: as it is, reversed, in base64 (both alphabets, at any place of a longer
//! text), in hexadecimal digits, or two of these one after the other. Around that it may be escaped for a URL, for
//! JSON or for HTML, be broken into lines, or have characters without width between its own. All of these are found.
//!
//! Limits: a secret of fewer than [`SHORTEST`] bytes is not looked for, since it would be found everywhere; what is
//! compressed, encrypted or cut into parts is not found.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use stave_canon::Value;

use crate::Secret;

mod beginnings;
mod view;

pub use beginnings::{Begun, SecretBeginnings};
use view::View;

/// What stands where a secret was.
pub const REPLACEMENT: &str = "[secret]";

/// A secret shorter than this is not looked for.
const SHORTEST: usize = 4;

/// From this length on, letters may be in either case and white space may be between them.
const DISTINCT: usize = 8;

/// The shortest encoded form that is looked for: shorter ones would be found in ordinary words.
const SHORTEST_FORM: usize = 6;

/// Secrets beyond this length, such as keys in PEM, are looked for in their simple forms only.
const LONGEST_NESTED: usize = 512;

/// Looks for a set of secrets.
#[derive(Clone, Default)]
pub struct SecretSearch {
    /// The forms of short secrets, found as they are.
    exact: Option<AhoCorasick>,
    /// The forms of other secrets, found in either case.
    folded: Option<AhoCorasick>,
}

impl std::fmt::Debug for SecretSearch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SecretSearch(redacted)")
    }
}

impl SecretSearch {
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> SecretSearch {
        let Forms { exact, folded } = Forms::of(secrets);
        SecretSearch { exact: automaton(&exact, false), folded: automaton(&folded, true) }
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_none() && self.folded.is_none()
    }

    /// The places of secrets: in order, apart from each other.
    #[must_use]
    pub fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if self.is_empty() {
            return found;
        }
        self.find_in(bytes, View::AsItIs, &mut found);
        for view in View::DECODED {
            if view.applies(bytes) {
                let decoded = view.decode(bytes, None);
                let mut hits = Vec::new();
                self.find_in(&decoded, view, &mut hits);
                if !hits.is_empty() {
                    // Places are needed for a hit only, and a reply without a secret is the usual one.
                    let mut places = Vec::with_capacity(decoded.len());
                    view.decode(bytes, Some(&mut places));
                    let place = |at: usize| places.get(at).cloned().unwrap_or_default();
                    let range =
                        |hit: Range<usize>| place(hit.start).start..place(hit.end.saturating_sub(1)).end;
                    found.extend(hits.into_iter().map(range));
                }
            }
        }
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
            let (mut start, mut end) = (range.start.max(at), range.end);
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            while !text.is_char_boundary(end) {
                end += 1;
            }
            hidden.push_str(text.get(at..start).unwrap_or_default());
            hidden.push_str(REPLACEMENT);
            at = end;
        }
        hidden.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(hidden)
    }

    /// Replaces secrets in every text, key and number of a value.
    pub fn hide_in(&self, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
            Value::Number(_) if self.is_in(value.to_string().as_bytes()) => *value = REPLACEMENT.into(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(object) => {
                object.values_mut().for_each(|member| self.hide_in(member));
                if object.keys().any(|key| self.is_in(key.as_bytes())) {
                    let members = std::mem::take(object).into_iter();
                    *object = members.map(|(key, member)| (self.hide(&key).into_owned(), member)).collect();
                }
            }
            _ => {}
        }
    }

    fn find_in(&self, bytes: &[u8], view: View, found: &mut Vec<Range<usize>>) {
        let exact = self.exact.as_ref().filter(|_| view.keeps_space());
        for automaton in exact.into_iter().chain(&self.folded) {
            found.extend(automaton.find_overlapping_iter(bytes).map(|hit| hit.range()));
        }
    }
}

/// What secrets may look like.
#[derive(Default)]
struct Forms {
    exact: BTreeSet<Vec<u8>>,
    folded: BTreeSet<Vec<u8>>,
}

impl Forms {
    fn of(secrets: impl IntoIterator<Item = Secret>) -> Forms {
        let mut forms = Forms::default();
        for secret in secrets {
            let text = secret.expose();
            if text.len() >= SHORTEST {
                add_forms(text, if text.len() < DISTINCT { &mut forms.exact } else { &mut forms.folded });
            }
        }
        forms
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

fn add_forms(secret: &str, forms: &mut BTreeSet<Vec<u8>>) {
    let reversed: String = secret.chars().rev().collect();
    let quoted = Value::from(secret).to_string();
    let nested = secret.len() <= LONGEST_NESTED;
    for text in [secret, reversed.as_str(), quoted.trim_matches('"')] {
        forms.insert(text.as_bytes().to_vec());
        for once in encoded(text.as_bytes()) {
            if nested {
                forms.extend(encoded(&once));
            }
            forms.insert(once.iter().rev().copied().collect());
            forms.insert(once);
        }
    }
}

/// The encodings of some bytes, wherever in a longer text they are.
fn encoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut encoded = vec![hexadecimal(bytes)];
    for offset in 0..3 {
        let standard = base64_core(bytes, offset);
        let url_safe = standard.iter().map(|byte| match byte {
            b'+' => b'-',
            b'/' => b'_',
            other => *other,
        });
        encoded.push(url_safe.collect());
        encoded.push(standard);
    }
    encoded.retain(|form| form.len() >= SHORTEST_FORM);
    encoded
}

fn hexadecimal(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The digits in base64 that `bytes` alone decide, when they begin at this offset of a group of three.
fn base64_core(bytes: &[u8], offset: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    // `offset` bytes of somebody else's come first; the digits that they have a part in are left out.
    let (mut bits, mut count) = (0_u32, 0_u32);
    let mut unknown = (offset * 8).div_ceil(6);
    for byte in std::iter::repeat_n(&0, offset).chain(bytes) {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        while count >= 6 {
            count -= 6;
            let digit = DIGITS.get(((bits >> count) & 63) as usize).copied().unwrap_or(b'A');
            if unknown > 0 {
                unknown -= 1;
            } else {
                digits.push(digit);
            }
        }
        bits &= (1 << count) - 1;
    }
    digits
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
