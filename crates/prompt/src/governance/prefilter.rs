//! The prefilter: in one walk over many short texts it finds out which of them need to be judged at all.
//!
//! Almost every text of almost every prompt is harmless. The prefilter gathers texts into one buffer, in the form
//! in which they are compared, and searches it once for everything that any policy forbids.
//!
//! Invariant: a text that the prefilter lets through violates no policy that the prefilter covers. It may well hold
//! back a text that turns out to be harmless.

use aho_corasick::{AhoCorasick, Input, Span, packed};

use super::strict;

/// How many bytes are gathered before they are searched.
const GATHERED: usize = 1024;
/// How many texts are gathered before they are searched.
const TEXTS: usize = 64;

/// The form in which texts are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As they are.
    Exact,
    /// In lower case. What is not ASCII is held back.
    Lowered,
    /// Their letters alone, once with and once without the figures that stand for letters. What is not ASCII
    /// or could be an encoding is held back.
    Letters,
}

#[derive(Debug)]
pub(super) struct Prefilter {
    form: Form,
    /// Searches many bytes in one step; there is none for long lists of needles.
    packed: Option<packed::Searcher>,
    /// `None` when there is nothing to find.
    automaton: Option<AhoCorasick>,
}

/// A walk over texts.
pub(super) struct Walk<'s> {
    prefilter: &'s Prefilter,
    gathered: Gathered,
    /// The number of the next text.
    next: usize,
    held_back: Vec<usize>,
}

/// Gathered texts.
struct Gathered {
    bytes: [u8; GATHERED],
    used: usize,
    /// The number of the first text.
    first: usize,
    /// How many texts after the first each part is of, and where the part ends.
    parts: [(u32, u16); TEXTS],
    count: usize,
}

impl Prefilter {
    /// A prefilter that holds back every text in which a needle occurs; needles are in the prefilter's form already.
    /// `None` when an empty needle would hold back everything.
    pub(super) fn new(form: Form, needles: &[String]) -> Option<Prefilter> {
        if needles.iter().any(String::is_empty) {
            return None;
        }
        let automaton = if needles.is_empty() { None } else { Some(AhoCorasick::new(needles).ok()?) };
        let packed = if needles.is_empty() { None } else { packed::Searcher::new(needles) };
        Some(Prefilter { form, packed, automaton })
    }

    /// Begins a walk over texts.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk { prefilter: self, gathered: Gathered::new(), next: 0, held_back: Vec::new() }
    }

    /// Whether a text that is too long to be gathered has to be judged. Judging is a walk over it as well.
    fn holds_long(&self, text: &str) -> bool {
        let Some(automaton) = &self.automaton else { return false };
        match self.form {
            Form::Exact => automaton.is_match(text),
            Form::Lowered => automaton.is_match(&text.to_ascii_lowercase()),
            Form::Letters => true,
        }
    }

    /// Searches what was gathered, and empties it.
    fn search(&self, gathered: &mut Gathered, out: &mut Vec<usize>) {
        let Some(automaton) = self.automaton.as_ref().filter(|_| gathered.count > 0) else { return };
        let haystack = gathered.bytes.get(..gathered.used).unwrap_or_default();
        let parts = gathered.parts.get(..gathered.count).unwrap_or_default();
        let mut at = 0;
        loop {
            let span = Span { start: at, end: haystack.len() };
            let found = match &self.packed {
                Some(searcher) => searcher.find_in(haystack, span),
                None => automaton.find(Input::new(haystack).span(span)),
            };
            let Some(found) = found else { break };
            let part = parts.iter().find(|(_, end)| usize::from(*end) > found.start());
            let Some((number, end)) = part else { break };
            out.push(gathered.first + *number as usize);
            at = usize::from(*end);
        }
        gathered.used = 0;
        gathered.count = 0;
    }
}

impl Walk<'_> {
    /// Takes the next text.
    pub(super) fn push(&mut self, text: &str) {
        let index = self.next;
        self.next += 1;
        let form = self.prefilter.form;
        let is_suspect = match form {
            Form::Exact => false,
            Form::Lowered => !text.is_ascii(),
            Form::Letters => !text.is_ascii() || strict::may_be_encoded(text),
        };
        // Letters may take twice as much room as the text, and go in twice.
        let room = if form == Form::Letters { 4 * text.len() + 2 } else { text.len() + 1 };
        if is_suspect || room > GATHERED {
            if is_suspect || self.prefilter.holds_long(text) {
                self.held_back.push(index);
            }
            return;
        }
        if self.prefilter.automaton.is_none() {
            return;
        }
        let gathered = &mut self.gathered;
        if gathered.used + room > GATHERED || gathered.count + 2 > TEXTS {
            self.prefilter.search(gathered, &mut self.held_back);
        }
        if gathered.count == 0 {
            gathered.first = index;
        }
        match form {
            Form::Exact => gathered.add(index, text.as_bytes(), |byte| byte),
            Form::Lowered => gathered.add(index, text.as_bytes(), |byte| byte.to_ascii_lowercase()),
            Form::Letters => gathered.add_letters(index, text.as_bytes()),
        }
    }

    /// Holds the last text back, whatever is in it.
    pub(super) fn hold_back_last(&mut self) {
        self.held_back.extend(self.next.checked_sub(1));
    }

    /// The numbers of the texts that have to be judged, in ascending order.
    pub(super) fn finish(&mut self) -> Vec<usize> {
        self.prefilter.search(&mut self.gathered, &mut self.held_back);
        let mut held_back = std::mem::take(&mut self.held_back);
        held_back.sort_unstable();
        held_back.dedup();
        held_back
    }
}

impl Gathered {
    fn new() -> Self {
        Gathered { bytes: [0; GATHERED], used: 0, first: 0, parts: [(0, 0); TEXTS], count: 0 }
    }

    fn add(&mut self, index: usize, text: &[u8], form: impl Fn(u8) -> u8) {
        let Some(room) = self.bytes.get_mut(self.used..self.used + text.len()) else { return };
        room.copy_from_slice(text);
        room.iter_mut().for_each(|byte| *byte = form(*byte));
        self.used += text.len();
        self.end(index);
    }

    fn add_letters(&mut self, index: usize, text: &[u8]) {
        let has_figures = self.letters(text, &strict::FIGURES);
        self.end(index);
        if has_figures {
            self.letters(text, &strict::LETTERS);
            self.end(index);
        }
    }

    /// Whether a figure was among the letters.
    fn letters(&mut self, text: &[u8], table: &[u8; 256]) -> bool {
        let mut has_figures = false;
        for byte in text {
            let letter = table[usize::from(*byte)];
            has_figures |= letter != 0 && !byte.is_ascii_alphabetic();
            if let Some(slot) = self.bytes.get_mut(self.used) {
                *slot = letter;
            }
            self.used += usize::from(letter != 0);
            // An `m` is easily taken for an `r` and an `n`.
            if letter == b'r' && byte.eq_ignore_ascii_case(&b'm') {
                if let Some(slot) = self.bytes.get_mut(self.used) {
                    *slot = b'n';
                }
                self.used += 1;
            }
        }
        has_figures
    }

    /// Ends the part of a text. What lies between two parts is in no needle of letters, and a needle that it
    /// does occur in only holds a text back without need.
    fn end(&mut self, index: usize) {
        if let Some(slot) = self.bytes.get_mut(self.used) {
            *slot = 0;
        }
        self.used += 1;
        if let Some(part) = self.parts.get_mut(self.count) {
            *part = ((index - self.first) as u32, self.used as u16);
        }
        self.count += 1;
    }
}
