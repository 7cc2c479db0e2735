//! The texts of a JSON body with their places: strings, keys and long numbers.
//!
//! Invariants: everything that a string or a long number says is a text; what is a machine's word is known by its key
//! and is a text all the same. One pass finds them, whatever a body nests.

use std::ops::Range;

use super::sealed::{self, Seal};
use stave_block::Escaped;

/// What a text is in its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Key,
    Value,
    Number,
}

#[derive(Debug)]
pub(super) struct BodyText<'b> {
    pub(super) kind: TextKind,
    /// The key before a value.
    pub(super) key: &'b str,
    /// The object that the text is in, by its number in the stretch.
    object: usize,
    /// Why the text must stay as it is, when it must.
    pub(super) seal: Option<Seal>,
    pub(super) string: Escaped<'b>,
}

/// Keys whose values say what a part is or which other it belongs to. Readers do not see them between texts.
const MACHINE_KEYS: [&str; 9] =
    ["type", "role", "id", "tool_use_id", "tool_call_id", "call_id", "model", "detail", "media_type"];

/// The longest word of a machine that is left out of what a reader sees.
const LONGEST_WORD: usize = 64;

/// Numbers with fewer characters say nothing that a rule minds.
const SHORTEST_NUMBER: usize = 9;

/// Keys of what people, models and tools say. Texts under these are read one after the other.
const PROSE_KEYS: [&str; 10] = [
    "text",
    "content",
    "thinking",
    "input",
    "output",
    "arguments",
    "system",
    "instructions",
    "parts",
    "input_text",
];

impl BodyText<'_> {
    /// Whether the value is under a key of a machine and may be a machine's word.
    pub(super) fn is_machine_word(&self) -> bool {
        let text = &*self.string.text;
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
        self.kind == TextKind::Value
            && MACHINE_KEYS.contains(&self.key)
            && text.len() <= LONGEST_WORD
            && text.chars().all(is_word)
    }

    /// The same, or a key that is an identifier.
    pub(super) fn is_word_of_a_machine(&self) -> bool {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$');
        self.is_machine_word() || (self.kind == TextKind::Key && self.string.text.bytes().all(is_word))
    }

    /// Whether it is the name of a model.
    pub(super) fn names_model(&self) -> bool {
        self.kind == TextKind::Value && self.key == "model"
    }

    /// What a text file in base64 says.
    pub(super) fn file_text(&self) -> Option<String> {
        self.seal.filter(|seal| *seal == Seal::Bytes)?;
        sealed::file_text(&self.string.text)
    }

    /// Whether a reader sees it as part of what is said.
    pub(super) fn is_shown(&self) -> bool {
        self.kind != TextKind::Key && !self.is_machine_word() && self.seal != Some(Seal::Bytes)
    }

    /// Whether it is something that somebody says, and no setting beside it.
    pub(super) fn is_prose(&self) -> bool {
        // A text without a key is a whole position.
        let is_said = self.key.is_empty() || PROSE_KEYS.contains(&self.key);
        self.kind == TextKind::Value && self.is_shown() && is_said
    }

    /// Another way to read the text: the whole number that a decimal fraction or an exponent stands for.
    pub(super) fn as_whole_number(&self) -> Option<String> {
        let text = &*self.string.text;
        if self.kind != TextKind::Number || text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let number: f64 = text.parse().ok()?;
        (number.abs() < 1e20 && number.fract() == 0.0).then(|| format!("{:.0}", number.abs()))
    }
}

/// The texts of a stretch of a body that begins and ends between two tokens.
pub(super) fn body_texts<'b>(body: &'b str, place: &Range<usize>) -> Vec<BodyText<'b>> {
    let Range { start, end } = *place;
    let mut texts: Vec<BodyText<'b>> = Vec::new();
    let bytes = body.as_bytes();
    let mut objects = Objects::default();
    let mut at = start;
    let mut key = "";
    while at < end {
        let quote = memchr::memchr(b'"', &bytes[at..end]).map_or(end, |quote| at + quote);
        between(body, &(at..quote), key, &mut objects, &mut texts);
        if quote == end {
            break;
        }
        let open = quote + 1;
        let mut close = open;
        while let Some(stop) = bytes.get(close..end).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
            close += stop;
            if bytes[close] == b'"' {
                break;
            }
            close += 2;
        }
        let close = if bytes.get(close) == Some(&b'"') { close.min(end) } else { end };
        let inner = &body[open..close];
        at = close + 1;
        let is_key = bytes.get(at..end).is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b':'));
        let object = objects.open();
        if is_key {
            key = inner;
            objects.has_key(object, inner);
        } else if key == "type" {
            objects.has_type(object, inner);
        }
        let kind = if is_key { TextKind::Key } else { TextKind::Value };
        let string = Escaped::read(inner, open);
        texts.push(BodyText { kind, key: if is_key { "" } else { key }, object, seal: None, string });
    }
    for text in texts.iter_mut().filter(|text| text.kind == TextKind::Value) {
        text.seal = sealed::seal(text.key, &text.string.text, objects.facts(text.object));
    }
    texts
}

/// The objects of a stretch. The first is whatever the stretch begins in.
#[derive(Debug)]
struct Objects<'b> {
    facts: Vec<sealed::ObjectFacts<'b>>,
    open: Vec<usize>,
}

impl Default for Objects<'_> {
    fn default() -> Self {
        Objects { facts: vec![sealed::ObjectFacts::default()], open: Vec::new() }
    }
}

impl<'b> Objects<'b> {
    fn open(&self) -> usize {
        self.open.last().copied().unwrap_or_default()
    }

    fn begin(&mut self) {
        self.open.push(self.facts.len());
        self.facts.push(sealed::ObjectFacts::default());
    }

    fn facts(&self, object: usize) -> sealed::ObjectFacts<'b> {
        self.facts.get(object).copied().unwrap_or_default()
    }

    fn has_key(&mut self, object: usize, key: &str) {
        if let Some(facts) = self.facts.get_mut(object) {
            facts.has_media_type |= sealed::is_media_type(key);
        }
    }

    fn has_type(&mut self, object: usize, word: &'b str) {
        if let Some(facts) = self.facts.get_mut(object) {
            facts.kind = word;
        }
    }
}

/// The braces and the long numbers between two strings.
fn between<'b>(
    body: &'b str,
    place: &Range<usize>,
    key: &'b str,
    objects: &mut Objects<'b>,
    texts: &mut Vec<BodyText<'b>>,
) {
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let bytes = &body.as_bytes()[place.clone()];
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => objects.begin(),
            b'}' => {
                objects.open.pop();
            }
            b'-' | b'0'..=b'9' => {
                let length = bytes[at..].iter().take_while(|byte| is_part(**byte)).count();
                if length >= SHORTEST_NUMBER
                    || bytes[at..at + length].iter().any(|byte| matches!(byte, b'e' | b'E'))
                {
                    let start = place.start + at;
                    let string = Escaped::read(&body[start..start + length], start);
                    let (kind, object) = (TextKind::Number, objects.open());
                    texts.push(BodyText { kind, key, object, seal: None, string });
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// What several texts say one after the other, with the place of each.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) text: String,
    /// The place of each part in the text.
    pub(super) places: Vec<Range<usize>>,
}

impl Joined {
    /// Joins texts; `has_edge` says before which of them a word ends.
    pub(super) fn new(parts: &[(usize, &BodyText<'_>)], has_edge: impl Fn(usize) -> bool) -> Self {
        let mut text = String::new();
        let mut places = Vec::with_capacity(parts.len());
        for (index, (_, part)) in parts.iter().enumerate() {
            if has_edge(index) {
                text.push('\n');
            }
            let start = text.len();
            text.push_str(&part.string.text);
            places.push(start..text.len());
        }
        Joined { text, places }
    }

    /// The parts that a stretch of the text is in.
    pub(super) fn parts_of(&self, stretch: &Range<usize>) -> Range<usize> {
        let first = self.places.partition_point(|place| place.end <= stretch.start);
        let end = self.places.partition_point(|place| place.start < stretch.end);
        first..end.max(first)
    }

    /// The piece of a stretch that is in a part, as a range of the part's own text; `None` when there is none.
    pub(super) fn within(&self, part: usize, stretch: &Range<usize>) -> Option<Range<usize>> {
        let place = self.places.get(part)?;
        let (start, end) = (stretch.start.max(place.start), stretch.end.min(place.end));
        (start < end).then(|| start - place.start..end - place.start)
    }
}
