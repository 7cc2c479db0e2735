//! JSON strings read with the way back: each character of the text knows its bytes in the body.

use std::ops::Range;

/// The text between the quotes of a JSON string, with the bytes it came from.
#[derive(Debug)]
pub(super) struct Escaped {
    pub(super) text: String,
    /// For each byte of the text and for its end: the byte of the body where its character begins.
    origins: Vec<usize>,
}

impl Escaped {
    /// Reads what stands between the quotes. `start` is its place in the body.
    pub(super) fn read(inner: &str, start: usize) -> Self {
        let mut text = String::with_capacity(inner.len());
        let mut origins = Vec::with_capacity(inner.len() + 1);
        let mut at = 0;
        while let Some(character) = inner[at..].chars().next() {
            let length = match (character, inner.as_bytes().get(at + 1)) {
                ('\\', Some(b'u')) if is_high_surrogate(&inner[at..]) => 12,
                ('\\', Some(b'u')) => 6,
                ('\\', Some(_)) => 2,
                _ => character.len_utf8(),
            };
            let end = (at + length).min(inner.len());
            let decoded = if character == '\\' { decode(&inner[at..end]) } else { character };
            text.push(decoded);
            origins.extend(std::iter::repeat_n(start + at, decoded.len_utf8()));
            at = end;
        }
        origins.push(start + inner.len());
        Escaped { text, origins }
    }

    /// The bytes of the body for a range of the text.
    pub(super) fn in_body(&self, range: &Range<usize>) -> Range<usize> {
        self.origins[range.start]..self.origins[range.end]
    }
}

fn is_high_surrogate(escape: &str) -> bool {
    let digits = escape.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    digits.is_some_and(|unit| (0xd800..0xdc00).contains(&unit))
        && escape.get(6..8) == Some("\\u")
        && escape.len() >= 12
}

fn decode(escape: &str) -> char {
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
