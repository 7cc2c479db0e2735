//! JSON strings read with the way back: each character of the text knows its bytes in the body.

use std::borrow::Cow;
use std::ops::Range;

/// The text between the quotes of a JSON string, with the bytes it came from.
#[derive(Debug)]
pub struct Escaped<'b> {
    pub text: Cow<'b, str>,
    /// Where the body is for each stretch of the text, in order. The first begins with the text.
    stretches: Vec<Stretch>,
    /// The place of the closing quote in the body.
    end: usize,
}

/// A stretch of the text: characters as they are in the body, or one that is escaped there.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    text: usize,
    body: usize,
    is_escape: bool,
}

impl<'b> Escaped<'b> {
    /// Reads the text between the quotes. `start` is its place in the body.
    #[must_use]
    pub fn read(inner: &'b str, start: usize) -> Self {
        let end = start + inner.len();
        let Some(first) = memchr::memchr(b'\\', inner.as_bytes()) else {
            let whole = Stretch { text: 0, body: start, is_escape: false };
            return Escaped { text: Cow::Borrowed(inner), stretches: vec![whole], end };
        };
        let mut text = String::with_capacity(inner.len());
        let mut stretches = Vec::new();
        let mut at = 0;
        let mut next = Some(first);
        loop {
            let run = next.map_or(inner.len(), |next| at + next);
            if run > at {
                stretches.push(Stretch { text: text.len(), body: start + at, is_escape: false });
                text.push_str(&inner[at..run]);
            }
            if next.is_none() {
                break;
            }
            let escape = &inner[run..];
            let length = match escape.as_bytes().get(1) {
                Some(b'u') if is_high_surrogate(escape) => 12,
                Some(b'u') => 6,
                // What is escaped may be longer than a byte in a text that is no JSON.
                _ => escape.chars().take(2).map(char::len_utf8).sum(),
            };
            let length = escape.ceil_char_boundary(length);
            stretches.push(Stretch { text: text.len(), body: start + run, is_escape: true });
            text.push(decode(&escape[..length]));
            at = run + length;
            next = memchr::memchr(b'\\', &inner.as_bytes()[at..]);
        }
        Escaped { text: Cow::Owned(text), stretches, end }
    }

    /// The bytes of the body for a range of the text.
    #[must_use]
    pub fn in_body(&self, range: &Range<usize>) -> Range<usize> {
        self.place(range.start)..self.place(range.end)
    }

    fn place(&self, offset: usize) -> usize {
        if offset >= self.text.len() {
            return self.end;
        }
        let after = self.stretches.partition_point(|stretch| stretch.text <= offset);
        match after.checked_sub(1).and_then(|index| self.stretches.get(index)) {
            Some(Stretch { body, is_escape: true, .. }) => *body,
            Some(Stretch { text, body, is_escape: false }) => body + (offset - text),
            None => self.end,
        }
    }
}

fn is_high_surrogate(escape: &str) -> bool {
    let digits = escape.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    digits.is_some_and(|unit| (0xd800..0xdc00).contains(&unit))
        && escape.get(6..8) == Some("\\u")
        && escape.len() >= 12
}

fn decode(escape: &str) -> char {
    match escape {
        "\\n" => return '\n',
        "\\t" => return '\t',
        "\\r" => return '\r',
        "\\\"" => return '"',
        "\\\\" => return '\\',
        "\\/" => return '/',
        _ => {}
    }
    match stave_canon::parse(&format!("\"{escape}\"")) {
        Ok(stave_canon::Value::String(text)) => text.chars().next(),
        _ => None,
    }
    .unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_knows_its_bytes() {
        let inner = r#"a\nb\u00e9 \ud83d\ude00 é\"z"#;
        let escaped = Escaped::read(inner, 10);
        assert_eq!(escaped.text, "a\nbé 😀 é\"z");
        for wanted in ["b", "é \u{1f600}", "z", "\n"] {
            let start = escaped.text.find(wanted).unwrap();
            let Range { start, end } = escaped.in_body(&(start..start + wanted.len()));
            let again = Escaped::read(&inner[start - 10..end - 10], 0);
            assert_eq!(again.text, wanted);
        }
    }

    #[test]
    fn broken_escapes_do_no_harm() {
        for inner in ["\\", "\\u12", "\\ud83d", "\\ud83d\\u0041", "\\x"] {
            let escaped = Escaped::read(inner, 0);
            assert_eq!(escaped.in_body(&(0..escaped.text.len())), 0..inner.len());
        }
    }
}
