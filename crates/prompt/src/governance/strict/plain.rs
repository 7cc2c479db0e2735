//! A text as a reader sees it: one letter for everything that looks like that letter.
//!
//! Compatibility forms, look-alikes of other scripts, marks, invisible characters, letter case and runs
//! of white space are folded. Every byte of the result knows the bytes of the original it came from.
//!
//! Invariant: folding takes time linear in the text, and `origin` never leaves the original's bounds or
//! its character boundaries.

use std::ops::Range;

use stave_canon::is_invisible;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// A folded text with the way back.
#[derive(Debug, Clone, Default)]
pub(super) struct Plain {
    pub(super) text: String,
    /// For each byte of `text`, the bytes of the original that it stands for.
    origins: Vec<(u32, u32)>,
}

impl Plain {
    /// Folds a text that stands for itself.
    pub(super) fn new(original: &str) -> Self {
        let places = original
            .char_indices()
            .map(|(at, character)| (character, narrow(at), narrow(at + character.len_utf8())));
        Plain::fold(places, original.len())
    }

    /// Folds characters that each carry their place in the original.
    pub(super) fn fold(characters: impl Iterator<Item = (char, u32, u32)>, capacity: usize) -> Self {
        let mut out = Plain { text: String::with_capacity(capacity), origins: Vec::with_capacity(capacity) };
        for (character, start, end) in characters {
            plain(character, &mut |folded| out.push(folded, start, end));
        }
        out
    }

    fn push(&mut self, character: char, start: u32, end: u32) {
        if character == ' ' && self.text.ends_with(' ') {
            if let Some(last) = self.origins.last_mut() {
                last.1 = end;
            }
            return;
        }
        self.text.push(character);
        self.origins.extend(std::iter::repeat_n((start, end), character.len_utf8()));
    }

    /// The bytes of the original that a part of the folded text came from.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let start = self.origins.get(range.start).map_or(0, |origin| origin.0 as usize);
        let last = range.end.max(range.start + 1) - 1;
        let end = self.origins.get(last).map_or(start, |origin| origin.1 as usize);
        start..end.max(start)
    }

    /// The byte of the original at which a byte of the folded text begins.
    pub(super) fn start(&self, at: usize) -> Option<usize> {
        self.origins.get(at).map(|origin| origin.0 as usize)
    }
}

/// Texts beyond four gigabytes do not occur; a place beyond that would only be reported too low.
pub(super) fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Gives what a character looks like, in lower case.
pub(super) fn plain(character: char, emit: &mut impl FnMut(char)) {
    if character.is_ascii() {
        match character {
            'A'..='Z' => emit(character.to_ascii_lowercase()),
            _ if character.is_ascii_whitespace() => emit(' '),
            '\0'..='\u{1f}' | '\u{7f}' => {}
            _ => emit(character),
        }
        return;
    }
    if is_invisible(character) {
        return;
    }
    if character.is_whitespace() {
        emit(' ');
        return;
    }
    decompose_compatible(character, |part| {
        if is_combining_mark(part) || is_invisible(part) {
            return;
        }
        if part.is_ascii() {
            emit(part.to_ascii_lowercase());
            return;
        }
        for lowered in part.to_lowercase() {
            // A letter may look like another one only in upper case, so that form is asked second.
            if !looks_ascii(lowered, emit) && !looks_ascii(part, emit) {
                emit(lowered);
            }
        }
    });
}

/// Gives the ASCII text that a character looks like, if there is one.
fn looks_ascii(character: char, emit: &mut impl FnMut(char)) -> bool {
    if let Some(letter) = drawn_letter(character) {
        emit(letter);
        return true;
    }
    let mut buffer = [0; 4];
    let written: &str = character.encode_utf8(&mut buffer);
    // Every prototype is short; what is longer is no letter.
    let mut found = ['\0'; 4];
    let mut count = 0;
    for prototype in unicode_security::skeleton(written) {
        let prototype = drawn_letter(prototype).unwrap_or(prototype);
        if is_combining_mark(prototype) {
            continue;
        }
        match found.get_mut(count) {
            Some(slot) if prototype.is_ascii() => *slot = prototype.to_ascii_lowercase(),
            _ => return false,
        }
        count += 1;
    }
    found.iter().take(count).for_each(|letter| emit(*letter));
    count > 0
}

/// Letters that Unicode keeps as symbols of their own: small capitals, letters in circles and squares,
/// flags.
fn drawn_letter(character: char) -> Option<char> {
    const SMALL_CAPITALS: &str = "ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢz";
    let code = u32::from(character);
    let letter = |first: u32| char::from_u32(u32::from('a') + code - first);
    match code {
        0x1f130..=0x1f149 => letter(0x1f130),
        0x1f150..=0x1f169 => letter(0x1f150),
        0x1f170..=0x1f189 => letter(0x1f170),
        0x1f1e6..=0x1f1ff => letter(0x1f1e6),
        0x250..=0x2af | 0x1d00..=0x1d22 | 0xa730..=0xa731 => {
            let mut letters = SMALL_CAPITALS.chars();
            letters.find(|small| *small == character).and_then(|_| letters.next())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        Plain::new(text).text
    }

    #[test]
    fn what_looks_the_same_becomes_the_same() {
        for text in [
            "bypass",
            "BYPASS",
            "b\u{200b}yp\u{ad}ass",
            "bураss",
            "ВУРАЅЅ",
            "ｂｙｐａｓｓ",
            "𝐛𝐲𝐩𝐚𝐬𝐬",
            "ⓑⓨⓟⓐⓢⓢ",
            "🅱🅨🅿🅐🆂🆂",
            "ʙʏᴘᴀꜱꜱ",
            "by\u{301}pa\u{308}ss",
        ] {
            assert_eq!(folded(text), "bypass", "{text}");
        }
        assert_eq!(folded("a \t\r\n\u{a0}\u{3000} b"), "a b");
        assert_eq!(folded("rm \u{2013}rf"), "rm -rf");
        assert_eq!(folded("／ｅｔｃ／x"), "/etc/x");
        assert_eq!(folded("日本"), "日本");
    }

    #[test]
    fn the_way_back_covers_whole_characters() {
        let text = "x \u{200b}ВУРАЅЅ!";
        let plain = Plain::new(text);
        let start = plain.text.find("bypass").unwrap();
        assert_eq!(&text[plain.origin(start..start + 6)], "ВУРАЅЅ");
    }
}
