//! Secrets in texts that come piece by piece: which end of a text could be the beginning of a secret.
//!
//! Invariant: what is held is bounded by the length of the longest form, whatever the text is.

use std::ops::Range;

use super::Secret;
use super::forms::Forms;
use super::view::{Aspect, Extent, each_reading};

/// How many bytes of a text one byte of the longest form takes at most: `\u0041`, escaped in this way once more, takes
/// 36. The end of a text is read again with each piece of it, so a slow sender must not make it long.
const WIDEST: usize = 64;

/// The forms of some secrets, by how they begin.
#[derive(Clone, Default)]
pub struct SecretBeginnings {
    written: Sorted,
    seen: Sorted,
    digits: Sorted,
    longest: usize,
}

/// Forms in order, so that those that begin alike are neighbours.
#[derive(Clone, Default)]
struct Sorted {
    forms: Vec<Vec<u8>>,
    /// The forms that begin with a byte.
    first: Vec<Range<usize>>,
    longest: usize,
}

impl std::fmt::Debug for SecretBeginnings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SecretBeginnings(redacted)")
    }
}

impl SecretBeginnings {
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> SecretBeginnings {
        let forms = Forms::of(secrets);
        let written = Sorted::new(forms.written.into_iter().collect());
        let seen = Sorted::new(forms.seen.iter().map(|form| form.to_ascii_lowercase()).collect());
        let digits = Sorted::new(forms.digits.into_iter().collect());
        let longest = written.longest.max(seen.longest).max(digits.longest);
        SecretBeginnings { written, seen, digits, longest }
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.longest == 0
    }

    /// The most that is held.
    #[must_use]
    pub fn most_held(&self) -> usize {
        self.longest.saturating_mul(WIDEST)
    }

    /// Where the end of a text begins that could be the beginning of a secret with at least so many bytes, in any way of
    /// reading the text. The end is bounded, whatever it contains.
    #[must_use]
    pub fn held_from(&self, bytes: &[u8], least: usize) -> usize {
        let from = bytes.len().saturating_sub(self.most_held());
        let Some(tail) = bytes.get(from..).filter(|_| !self.is_empty()) else { return bytes.len() };
        let mut held = tail.len();
        each_reading(tail, Extent::Open, &mut |aspect, reading| {
            if let Some(cut) = reading.cut_place().filter(|_| least <= 1) {
                held = held.min(cut);
            }
            let depth = match aspect {
                Aspect::Written => self.written.begun_at_end(&reading.bytes, false),
                Aspect::Seen => self.seen.begun_at_end(&reading.bytes, true),
                Aspect::Digits => self.digits.begun_at_end(&reading.bytes, false),
            };
            if depth >= least.max(1) {
                held = held.min(reading.place(reading.bytes.len() - depth));
            }
        });
        from + held
    }
}

impl Sorted {
    fn new(mut forms: Vec<Vec<u8>>) -> Sorted {
        forms.sort_unstable();
        forms.dedup();
        let place = |byte: u8, after: bool| {
            forms.partition_point(|form| match form.first() {
                Some(first) => *first < byte || (after && *first == byte),
                None => true,
            })
        };
        let first = (0..=u8::MAX).map(|byte| place(byte, false)..place(byte, true)).collect();
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        Sorted { forms, first, longest }
    }

    /// How many of the last bytes are the beginning of a form that continues after them.
    fn begun_at_end(&self, bytes: &[u8], folds: bool) -> usize {
        let end = bytes.get(bytes.len().saturating_sub(self.longest)..).unwrap_or_default();
        let lowered = folds.then(|| end.to_ascii_lowercase());
        let end = lowered.as_deref().unwrap_or(end);
        (0..end.len())
            .find(|at| self.goes_on(end.get(*at..).unwrap_or_default()))
            .map_or(0, |at| end.len() - at)
    }

    fn goes_on(&self, beginning: &[u8]) -> bool {
        let Some(first) = beginning.first() else { return false };
        let Some(forms) = self.first.get(usize::from(*first)).and_then(|range| self.forms.get(range.clone()))
        else {
            return false;
        };
        let after = forms.partition_point(|form| form.as_slice() <= beginning);
        forms.get(after).is_some_and(|form| form.starts_with(beginning))
    }
}
