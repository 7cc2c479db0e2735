//! Secrets in texts that come piece by piece: which end of a text could be the beginning of a secret.
//!
//! Invariant: the work for one byte is bounded by the length of the longest form, and is one look into a table for
//! almost every byte.

use std::ops::Range;

use super::view::View;
use super::{Forms, Secret};

/// How many bytes of a text one byte of a form takes at most, escaped as `\u0041`.
const WIDEST: usize = 6;

/// The longest escape that a text can end within.
const LONGEST_ESCAPE: usize = 10;

/// The forms of some secrets, by how they begin.
#[derive(Clone, Default)]
pub struct SecretBeginnings {
    exact: Sorted,
    folded: Sorted,
    longest: usize,
}

/// Forms in order, so that those that begin alike are neighbours.
#[derive(Clone, Default)]
struct Sorted {
    forms: Vec<Vec<u8>>,
    /// The forms that begin with a byte.
    first: Vec<Range<usize>>,
}

/// The secrets that a text may be in the middle of.
#[derive(Debug, Clone, Default)]
pub struct Begun {
    exact: Vec<Live>,
    folded: Vec<Live>,
}

/// Some forms, as far as they were read.
#[derive(Debug, Clone)]
struct Live {
    forms: Range<usize>,
    depth: usize,
}

impl std::fmt::Debug for SecretBeginnings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SecretBeginnings(redacted)")
    }
}

impl SecretBeginnings {
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> SecretBeginnings {
        let Forms { exact, folded } = Forms::of(secrets);
        let mut lowered: Vec<Vec<u8>> = folded.iter().map(|form| form.to_ascii_lowercase()).collect();
        lowered.sort_unstable();
        lowered.dedup();
        let longest = exact.iter().chain(&folded).map(Vec::len).max().unwrap_or(0);
        let exact = Sorted::new(exact.into_iter().collect());
        SecretBeginnings { exact, folded: Sorted::new(lowered), longest }
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.longest == 0
    }

    /// The length of the longest form.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Where the end of a text begins that could be the beginning of a secret with at least so many bytes, in any way of
    /// reading the text. The end is bounded, whatever stands in it.
    #[must_use]
    pub fn held_from(&self, bytes: &[u8], least: usize) -> usize {
        let from = bytes.len().saturating_sub(self.longest.saturating_mul(WIDEST));
        let Some(tail) = bytes.get(from..).filter(|_| !self.is_empty()) else { return bytes.len() };
        let mut held = tail.len();
        for view in std::iter::once(View::AsItIs).chain(View::DECODED) {
            if !view.applies(tail) {
                continue;
            }
            let end = view.end_of_whole_units(tail, LONGEST_ESCAPE);
            let mut places = Vec::with_capacity(end);
            let decoded = view.decode(tail.get(..end).unwrap_or_default(), Some(&mut places));
            let mut begun = Begun::default();
            for byte in decoded {
                self.step(&mut begun, byte, view.keeps_space());
            }
            if let Some(depth) = begun.deepest().filter(|depth| *depth >= least) {
                held = held.min(places.get(places.len() - depth).map_or(end, |place| place.start));
            }
            if least <= 1 {
                held = held.min(end);
            }
        }
        from + held
    }

    /// Reads one more byte of a text, and gives the length of the longest form that ends with it. `exact` says whether
    /// short secrets are looked for too.
    pub fn step(&self, begun: &mut Begun, byte: u8, exact: bool) -> Option<usize> {
        let short = if exact { self.exact.step(&mut begun.exact, byte) } else { None };
        let long = self.folded.step(&mut begun.folded, byte.to_ascii_lowercase());
        short.max(long)
    }
}

impl Begun {
    /// How many of the last bytes could be the beginning of a secret.
    #[must_use]
    pub fn deepest(&self) -> Option<usize> {
        // Those that began first come first.
        let deepest = |live: &[Live]| live.first().map(|live| live.depth);
        deepest(&self.exact).max(deepest(&self.folded))
    }
}

impl Sorted {
    /// Forms in order.
    fn new(forms: Vec<Vec<u8>>) -> Sorted {
        let place = |byte: u8, after: bool| {
            forms.partition_point(|form| match form.first() {
                Some(first) => *first < byte || (after && *first == byte),
                None => true,
            })
        };
        let first = (0..=u8::MAX).map(|byte| place(byte, false)..place(byte, true)).collect();
        Sorted { forms, first }
    }

    fn step(&self, live: &mut Vec<Live>, byte: u8) -> Option<usize> {
        let mut ended = None;
        live.retain_mut(|live| {
            let forms = self.forms.get(live.forms.clone()).unwrap_or_default();
            let depth = live.depth;
            let start = forms.partition_point(|form| form.get(depth) < Some(&byte));
            let end = forms.partition_point(|form| form.get(depth) <= Some(&byte));
            live.forms = live.forms.start + start..live.forms.start + end;
            live.depth += 1;
            !live.forms.is_empty()
        });
        let begins = self.first.get(usize::from(byte)).cloned().unwrap_or_default();
        if !begins.is_empty() {
            live.push(Live { forms: begins, depth: 1 });
        }
        live.retain_mut(|live| {
            // The shortest of forms that begin alike comes first.
            if self.forms.get(live.forms.start).is_some_and(|form| form.len() == live.depth) {
                ended = ended.max(Some(live.depth));
                live.forms.start += 1;
            }
            !live.forms.is_empty()
        });
        ended
    }
}
