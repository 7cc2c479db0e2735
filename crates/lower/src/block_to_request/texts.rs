//! The texts of a JSON body with their places: strings, keys and long numbers.
//!
//! Invariant: everything that a string or a long number says is a text; what is a machine's word is known by its key and
//! is a text all the same.

use std::ops::Range;

use super::escaped::Escaped;

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
    key: &'b str,
    pub(super) string: Escaped<'b>,
}

/// Keys whose values say what a part is or which other it belongs to. Readers do not see them between texts.
const MACHINE_KEYS: [&str; 9] =
    ["type", "role", "id", "tool_use_id", "tool_call_id", "call_id", "model", "detail", "media_type"];

/// The longest word of a machine that is left out of what a reader sees.
const LONGEST_WORD: usize = 64;

/// Numbers with fewer characters say nothing that a rule minds.
const SHORTEST_NUMBER: usize = 9;

impl BodyText<'_> {
    /// Whether the value stands under a key of a machine and may be a machine's word.
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

    /// Whether a reader sees it as part of what is said.
    pub(super) fn is_shown(&self) -> bool {
        self.kind != TextKind::Key && !self.is_machine_word()
    }
}

/// The texts of a stretch of a body that begins and ends between two tokens.
pub(super) fn body_texts<'b>(body: &'b str, place: &Range<usize>) -> Vec<BodyText<'b>> {
    let Range { start, end } = *place;
    let mut texts = Vec::new();
    let bytes = body.as_bytes();
    let mut at = start;
    let mut key = "";
    while at < end {
        let quote = memchr::memchr(b'"', &bytes[at..end]).map_or(end, |quote| at + quote);
        numbers(body, &(at..quote), key, &mut texts);
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
        if is_key {
            key = inner;
        }
        let kind = if is_key { TextKind::Key } else { TextKind::Value };
        texts.push(BodyText { kind, key: if is_key { "" } else { key }, string: Escaped::read(inner, open) });
    }
    texts
}

/// The long numbers between two strings.
fn numbers<'b>(body: &'b str, place: &Range<usize>, key: &'b str, texts: &mut Vec<BodyText<'b>>) {
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let bytes = &body.as_bytes()[place.clone()];
    let mut at = 0;
    while let Some(begin) = bytes[at..].iter().position(|byte| byte.is_ascii_digit() || *byte == b'-') {
        let begin = at + begin;
        let length = bytes[begin..].iter().take_while(|byte| is_part(**byte)).count();
        at = begin + length;
        if length >= SHORTEST_NUMBER {
            let start = place.start + begin;
            let string = Escaped::read(&body[start..start + length], start);
            texts.push(BodyText { kind: TextKind::Number, key, string });
        }
    }
}
