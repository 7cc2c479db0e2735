//! Forbidden words in a folded text, whole or taken apart.
//!
//! A word is looked for among the letters of a text alone, so that what is between its letters does
//! not hide it; then the place is judged: it must begin and end where a word does, and what is between
//! its letters must be the kind of thing that splits a word rather than the end of a sentence.
//!
//! Invariant: one walk over the text for all words of a policy. The work for one hit is bounded by the
//! length of the word.

use std::cell::OnceCell;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::encoded;
use super::plain::{Plain, narrow, plain};

/// Endings that leave a word the same word.
const ENDINGS: [&str; 7] = ["s", "d", "es", "ed", "er", "ers", "ing"];

/// The length of the longest ending.
const LONGEST_ENDING: usize = 3;

/// The longest thing between two letters of one word.
const LONGEST_GAP: usize = 4;

/// Words of at least this many letters are also looked for backwards and rotated by 13 letters.
const DISGUISED_LETTERS: usize = 6;

/// A text, ready to be searched by any number of policies.
#[derive(Debug)]
pub(in super::super) struct Prepared<'t> {
    original: &'t str,
    /// The text itself, and the text without its encodings if it has any.
    views: Vec<View>,
}

#[derive(Debug)]
struct View {
    plain: Plain,
    /// Letters only.
    letters: Letters,
    /// Letters, and the digits and signs that stand for letters, if there are any.
    figures: Option<Letters>,
    /// Everything.
    whole: Letters,
    /// The folded text with snake case as words, once an expression asks for it.
    spaced: OnceCell<String>,
    /// The folded text with words that were taken apart put together, once an expression asks for it.
    joined: OnceCell<Letters>,
}

/// A searched text: a part of a folded one, with letters that are easily mistaken made equal.
#[derive(Debug, Default)]
struct Letters {
    text: String,
    /// For each byte of `text`, the byte of the folded text that it stands for.
    at: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Letters,
    LettersAndFigures,
    Everything,
}

/// The literal texts that a policy forbids, or that it allows.
#[derive(Debug)]
pub(in super::super) struct Literals {
    /// Words, searched among letters.
    words: Searched,
    /// Texts with other signs in them, searched in everything.
    texts: Searched,
    /// One of these is among the letters of every text of ASCII that a word or a text is in.
    needles: Vec<String>,
}

#[derive(Debug)]
struct Searched {
    automaton: Option<AhoCorasick>,
    needles: Vec<Needle>,
}

#[derive(Debug)]
struct Needle {
    /// The number that the caller gave the pattern.
    pattern: usize,
    /// Whether it must begin and end where a word does.
    whole: bool,
    starts_with_letter: bool,
    ends_with_letter: bool,
}

impl<'t> Prepared<'t> {
    #[cfg(test)]
    pub(in super::super) fn new(original: &'t str) -> Self {
        Prepared::until(original, &|| false).unwrap_or(Prepared { original, views: Vec::new() })
    }

    /// The same for a caller that has no time to lose; `None` once `is_late` says so.
    pub(in super::super) fn until(original: &'t str, is_late: &dyn Fn() -> bool) -> Option<Self> {
        let mut views = vec![View::until(Plain::new(original), is_late)?];
        if let Some(placed) = encoded::decoded(original) {
            views.push(View::until(Plain::fold(placed.into_iter(), original.len()), is_late)?);
        }
        Some(Prepared { original, views })
    }

    /// The first place that a regular expression matches: in the text itself, as it looks, or without
    /// its encodings, with words that were taken apart put together.
    pub(in super::super) fn find(&self, expression: &regex::Regex) -> Option<Range<usize>> {
        if let Some(found) = expression.find(self.original) {
            return Some(found.range());
        }
        self.views.iter().find_map(|view| {
            if let Some(found) = expression.find(view.spaced()) {
                return Some(view.plain.origin(found.range()));
            }
            let joined = view.joined.get_or_init(|| view.joined());
            let found = expression.find(&joined.text)?;
            Some(view.origin(joined, found.range()))
        })
    }
}

/// After so many matches that are allowed, the next one counts: searching on could take time that grows with the square
/// of a text, and no person writes a text of so many exceptions.
const ALLOWED_MATCHES: usize = 1000;

impl Prepared<'_> {
    /// The first place that an expression matches outside of what is allowed.
    pub(in super::super) fn find_outside(
        &self,
        expression: &regex::Regex,
        is_allowed: &dyn Fn(&Range<usize>) -> bool,
    ) -> Option<Range<usize>> {
        let first = |ranges: &mut dyn Iterator<Item = Range<usize>>| {
            ranges.enumerate().find(|(at, range)| *at >= ALLOWED_MATCHES || !is_allowed(range))
        };
        if let Some((_, range)) = first(&mut expression.find_iter(self.original).map(|found| found.range())) {
            return Some(range);
        }
        self.views.iter().find_map(|view| {
            let spaced = expression.find_iter(view.spaced());
            if let Some((_, range)) = first(&mut spaced.map(|found| view.plain.origin(found.range()))) {
                return Some(range);
            }
            let joined = view.joined.get_or_init(|| view.joined());
            let found = expression.find_iter(&joined.text);
            first(&mut found.map(|found| view.origin(joined, found.range()))).map(|(_, range)| range)
        })
    }

    /// Every place that a regular expression matches, and whether the place was found only after a disguise was taken
    /// off. A place that several views of the text show is given once for each of them.
    pub(in super::super) fn find_each(
        &self,
        expression: &regex::Regex,
        found: &mut dyn FnMut(Range<usize>, bool),
    ) {
        let mut plain: Vec<Range<usize>> = Vec::new();
        let mut show = |range: Range<usize>, known: &[Range<usize>]| {
            let before = known.partition_point(|known| known.start <= range.start);
            let last = before.checked_sub(1).and_then(|at| known.get(at));
            found(range.clone(), last.is_none_or(|known| known.end < range.start.max(1)));
        };
        plain.extend(expression.find_iter(self.original).map(|found| found.range()));
        if let Some(view) = self.views.first() {
            // Snake case and letters of other alphabets are no disguise that anybody puts on for this.
            let spaced = view.spaced();
            plain.extend(expression.find_iter(spaced).map(|found| view.plain.origin(found.range())));
        }
        plain.sort_by_key(|range| (range.start, range.end));
        plain.dedup();
        plain.iter().for_each(|range| show(range.clone(), std::slice::from_ref(range)));
        for (index, view) in self.views.iter().enumerate() {
            if index > 0 {
                let spaced = view.spaced();
                expression.find_iter(spaced).for_each(|found| show(view.plain.origin(found.range()), &plain));
            }
            let joined = view.joined.get_or_init(|| view.joined());
            expression
                .find_iter(&joined.text)
                .for_each(|found| show(view.origin(joined, found.range()), &plain));
        }
    }
}

impl View {
    fn spaced(&self) -> &str {
        // Snake case is words too, and a space is as long as the sign it replaces.
        self.spaced.get_or_init(|| self.plain.text.replace('_', " "))
    }

    fn until(plain: Plain, is_late: &dyn Fn() -> bool) -> Option<Self> {
        if is_late() {
            return None;
        }
        let letters = Letters::new(&plain.text, Keep::Letters);
        let has_figures = plain.text.contains(|sign| figure(sign).is_some());
        let figures = has_figures.then(|| Letters::new(&plain.text, Keep::LettersAndFigures));
        if is_late() {
            return None;
        }
        let whole = Letters::new(&plain.text, Keep::Everything);
        Some(View { plain, letters, figures, whole, spaced: OnceCell::new(), joined: OnceCell::new() })
    }

    /// The bytes of the original that a part of a searched text came from.
    fn origin(&self, letters: &Letters, range: Range<usize>) -> Range<usize> {
        let start = letters.at.get(range.start).map_or(0, |at| *at as usize);
        let last = letters.at.get(range.end.max(range.start + 1) - 1).map_or(start, |at| *at as usize);
        let end =
            last + self.plain.text.get(last..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        self.plain.origin(start..end)
    }

    /// The folded text without the signs inside words, and with spelt-out words as words.
    fn joined(&self) -> Letters {
        let text = &self.plain.text;
        let mut out = Letters::default();
        let letters: Vec<bool> = text.chars().map(char::is_alphabetic).collect();
        let letter = |at: usize| letters.get(at) == Some(&true);
        let alone = |at: usize| letter(at) && !(at > 0 && letter(at - 1)) && !letter(at + 1);
        for (index, (at, character)) in text.char_indices().enumerate() {
            let before = index.checked_sub(1);
            let joins = !character.is_alphanumeric() && before.is_some_and(letter) && letter(index + 1);
            let spelt = character == ' ' && before.is_some_and(alone) && alone(index + 1);
            if joins && (character != ' ' || spelt) {
                continue;
            }
            out.push(character, at);
        }
        out
    }

    /// Whether no word continues before this byte of the folded text.
    fn begins(&self, original: &str, at: usize) -> bool {
        let before = self.plain.text.get(..at).and_then(|before| before.chars().next_back());
        match before {
            Some(letter) if letter.is_alphabetic() => self.is_hump(original, at - letter.len_utf8(), at),
            _ => true,
        }
    }

    /// Whether the word ends at this byte of the folded text, or only its ending follows.
    fn ends(&self, original: &str, at: usize) -> bool {
        let rest = self.plain.text.get(at..).unwrap_or_default();
        // A longer tail is no ending, and a text can be one long word.
        let tail = rest.chars().take(LONGEST_ENDING + 1).take_while(|sign| sign.is_alphabetic());
        let tail_end = tail.map(char::len_utf8).sum();
        let tail = rest.get(..tail_end).unwrap_or_default();
        if tail.is_empty() || ENDINGS.contains(&tail) {
            return true;
        }
        let last = self.plain.text.get(..at).and_then(|before| before.chars().next_back());
        last.is_some_and(|last| self.is_hump(original, at - last.len_utf8(), at))
    }

    /// Whether a capital letter after a small one begins a word of its own, as in `skipChecks`.
    fn is_hump(&self, original: &str, before: usize, at: usize) -> bool {
        let letter = |at: usize| original.get(self.plain.start(at)?..)?.chars().next();
        letter(before).is_some_and(char::is_lowercase) && letter(at).is_some_and(char::is_uppercase)
    }

    /// Whether everything between the letters of a hit could be there to split the word.
    fn is_one_word(&self, letters: &Letters, range: Range<usize>) -> bool {
        let text = &self.plain.text;
        let places = letters.at.get(range).unwrap_or_default();
        let mut longest_run = 0;
        let mut run = 0;
        let mut gaps = Vec::new();
        for (index, &place) in places.iter().enumerate() {
            let place = place as usize;
            run += 1;
            longest_run = longest_run.max(run);
            let Some(&next) = places.get(index + 1) else { break };
            let length = text.get(place..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
            let next = next as usize;
            if next > place + length {
                gaps.push(text.get(place + length..next).unwrap_or_default());
                run = 0;
            }
        }
        let spelt = longest_run <= 1;
        gaps.iter().all(|gap| {
            if gap.chars().count() > LONGEST_GAP {
                return false;
            }
            let stops = gap.contains(['.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '{', '}']);
            spelt || !gap.contains(' ') || !stops
        })
    }
}

impl Letters {
    fn new(text: &str, keep: Keep) -> Self {
        let mut out = Letters { text: String::with_capacity(text.len()), at: Vec::with_capacity(text.len()) };
        for (at, sign) in text.char_indices() {
            if sign.is_alphabetic() {
                alike(sign, &mut |letter| out.push(letter, at));
            } else if let (Some(letter), true) = (figure(sign), keep != Keep::Letters) {
                out.push(letter, at);
            } else if keep == Keep::Everything {
                out.push(sign, at);
            }
        }
        out
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        self.at.extend(std::iter::repeat_n(narrow(at), character.len_utf8()));
    }
}

/// Letters that are easily mistaken for each other become one.
fn alike(letter: char, emit: &mut impl FnMut(char)) {
    match letter {
        'l' => emit('i'),
        'm' => {
            emit('r');
            emit('n');
        }
        other => emit(other),
    }
}

/// The letter that a digit or a sign stands for.
const fn figure(sign: char) -> Option<char> {
    Some(match sign {
        '0' => 'o',
        '1' | '|' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        '8' => 'b',
        _ => return None,
    })
}

/// For each byte of ASCII the letter it becomes among letters alone, or 0. The second half of an `m` is left
/// to the user of the table.
pub(in super::super) const LETTERS: [u8; 256] = letters(false);

/// The same with the digits and signs that stand for letters.
pub(in super::super) const FIGURES: [u8; 256] = letters(true);

const fn letters(with_figures: bool) -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let lowered = byte.to_ascii_lowercase();
        table[byte as usize] = match (lowered, figure(byte as char)) {
            (b'l', _) => b'i',
            (b'm', _) => b'r',
            (b'a'..=b'z', _) => lowered,
            (_, Some(letter)) if with_figures => letter as u8,
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// The letters of a folded text, and what its figures stand for, as they are searched.
pub(in super::super) fn letters_and_figures(folded: &str) -> String {
    Letters::new(folded, Keep::LettersAndFigures).text
}

impl Literals {
    /// Takes patterns by number: the text, and whether it must be a whole word.
    pub(in super::super) fn new<'p>(patterns: impl IntoIterator<Item = (usize, &'p str, bool)>) -> Self {
        let (mut words, mut texts) = (Vec::new(), Vec::new());
        for (pattern, written, whole) in patterns {
            let folded = Plain::new(written).text;
            let is_word = folded.chars().all(|sign| sign.is_alphabetic() || matches!(sign, ' ' | '-' | '_'));
            let letters = Letters::new(&folded, Keep::Letters).text;
            if whole && is_word && letters.chars().count() >= 3 {
                let count = folded.chars().filter(|sign| sign.is_alphabetic()).count();
                if count >= DISGUISED_LETTERS {
                    words.extend(disguises(&folded).map(|disguised| (pattern, true, disguised)));
                }
                words.push((pattern, true, letters));
            } else {
                texts.push((pattern, whole, Letters::new(&folded, Keep::Everything).text));
            }
        }
        let letters = |text: &String| letters_and_figures(text);
        let needles = words.iter().map(|(_, _, text)| text.clone());
        let needles = needles.chain(texts.iter().map(|(_, _, text)| letters(text)));
        let needles = needles.filter(|needle| needle.is_ascii()).collect();
        Literals { words: Searched::new(&words), texts: Searched::new(&texts), needles }
    }

    /// What the prefilter has to look for.
    pub(in super::super) fn needles(&self) -> &[String] {
        &self.needles
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.words.needles.is_empty() && self.texts.needles.is_empty()
    }

    /// Gives every hit: the pattern's number and the bytes of the original.
    pub(in super::super) fn find_each(
        &self,
        prepared: &Prepared<'_>,
        mut hit: impl FnMut(usize, Range<usize>),
    ) {
        let original = prepared.original;
        for view in &prepared.views {
            for letters in std::iter::once(&view.letters).chain(&view.figures) {
                self.words.search(letters, &mut |needle, range| {
                    let (start, end) = view.bounds(letters, &range);
                    if view.begins(original, start)
                        && view.ends(original, end)
                        && view.is_one_word(letters, range.clone())
                    {
                        hit(needle.pattern, view.origin(letters, range));
                    }
                });
            }
            self.texts.search(&view.whole, &mut |needle, range| {
                let (start, end) = view.bounds(&view.whole, &range);
                let begins = !(needle.whole && needle.starts_with_letter) || view.begins(original, start);
                let ends = !(needle.whole && needle.ends_with_letter) || view.ends(original, end);
                if begins && ends {
                    hit(needle.pattern, view.origin(&view.whole, range));
                }
            });
        }
    }
}

impl View {
    /// The bytes of the folded text that a hit covers.
    fn bounds(&self, letters: &Letters, range: &Range<usize>) -> (usize, usize) {
        let place = |at: usize| letters.at.get(at).map_or(self.plain.text.len(), |place| *place as usize);
        let start = place(range.start);
        if range.is_empty() {
            return (start, start);
        }
        let last = place(range.end - 1);
        let length =
            self.plain.text.get(last..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        (start, last + length)
    }
}

impl Searched {
    fn new(needles: &[(usize, bool, String)]) -> Self {
        let texts: Vec<&str> = needles.iter().map(|(_, _, text)| text.as_str()).collect();
        let builder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&texts);
        let automaton = if texts.is_empty() { None } else { builder.ok() };
        let letter = |sign: Option<char>| sign.is_some_and(char::is_alphabetic);
        let needles = needles
            .iter()
            .map(|(pattern, whole, text)| Needle {
                pattern: *pattern,
                whole: *whole,
                starts_with_letter: letter(text.chars().next()),
                ends_with_letter: letter(text.chars().next_back()),
            })
            .collect();
        Searched { automaton, needles }
    }

    fn search(&self, letters: &Letters, hit: &mut impl FnMut(&Needle, Range<usize>)) {
        let Some(automaton) = &self.automaton else { return };
        for found in automaton.find_overlapping_iter(&letters.text) {
            if let Some(needle) = self.needles.get(found.pattern().as_usize()) {
                hit(needle, found.range());
            }
        }
    }
}

/// The word backwards and rotated by 13 letters, as it is searched.
fn disguises(folded: &str) -> impl Iterator<Item = String> {
    let backwards: String = folded.chars().rev().collect();
    let rotated: String = folded
        .chars()
        .map(|letter| match letter {
            'a'..='m' => char::from(letter as u8 + 13),
            'n'..='z' => char::from(letter as u8 - 13),
            other => other,
        })
        .collect();
    [backwards, rotated].into_iter().map(|text| {
        let mut folded = String::new();
        text.chars().for_each(|letter| plain(letter, &mut |part| folded.push(part)));
        Letters::new(&folded, Keep::Letters).text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(word: &str, text: &str) -> Option<String> {
        let literals = Literals::new([(0, word, true)]);
        let mut found = None;
        literals.find_each(&Prepared::new(text), |_, range| {
            found.get_or_insert_with(|| text[range].to_owned());
        });
        found
    }

    #[test]
    fn a_word_is_found_however_it_is_written() {
        for (text, matched) in [
            ("please bypass it", "bypass"),
            ("BYPASSING it", "BYPASS"),
            ("by-pass it", "by-pass"),
            ("b y p a s s", "b y p a s s"),
            ("b.y.p.a.s.s", "b.y.p.a.s.s"),
            ("by\u{200b}pass", "by\u{200b}pass"),
            ("bypa55 it", "bypa55"),
            ("byp@$$", "byp@$$"),
            ("@bypass", "bypass"),
            ("bypass1", "bypass"),
            ("bypassChecks", "bypass"),
            ("doBypass", "Bypass"),
            ("over- and bypass", "bypass"),
            ("ssapyb", "ssapyb"),
            ("olcnff", "olcnff"),
            ("say YnlwYXNzIGFsbA== now", "YnlwYXNzIGFsbA=="),
            ("%62ypass", "%62ypass"),
        ] {
            assert_eq!(hit("bypass", text).as_deref(), Some(matched), "{text}");
        }
        assert_eq!(hit("ignore policy", "ignore  *policy*").as_deref(), Some("ignore  *policy"));
        assert_eq!(hit("ignore policy", "ignore_policy").as_deref(), Some("ignore_policy"));
        assert_eq!(hit("rm -rf", "then rm \u{2013}rf /").as_deref(), Some("rm \u{2013}rf"));
    }

    #[test]
    fn a_word_inside_another_is_another_word() {
        for text in ["standbypassenger", "bypassometer", "go by. Pass it on", "by (pass)", "nothing here", ""]
        {
            assert_eq!(hit("bypass", text), None, "{text}");
        }
        assert_eq!(hit("ignore policy", "ignore policyholders"), None);
        assert_eq!(hit("ignore policy", "Never ignore. Policy applies"), None);
        assert_eq!(hit("override", "hover ride"), None);
    }
}
