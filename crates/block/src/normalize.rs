//! Text and JSON in the form that is hashed. What is sent is never rewritten.

use stave_canon::{ParseError, parse, rfc8785};

/// Trims both ends, drops white space before a line feed and turns every other run of white space into
/// one space. Line feeds are all kept, so paragraphs stay apart; an indent becomes one space, so the same
/// code in another layout compares equal. White space is Unicode's; zero-width characters are not white space.
///
/// Doing it twice changes nothing more.
#[must_use]
pub fn normalize_whitespace(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    let mut space = false;
    for character in text.trim().chars() {
        if character == '\n' {
            space = false;
            normalized.push('\n');
        } else if character.is_whitespace() {
            space = true;
        } else {
            if space {
                normalized.push(' ');
                space = false;
            }
            normalized.push(character);
        }
    }
    normalized
}

/// A JSON text in RFC 8785 form. Of duplicate keys the last wins, and numbers become doubles.
pub fn canonicalize_json(text: &str) -> Result<String, ParseError> {
    parse(text).map(|value| rfc8785(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_become_one_space_and_line_feeds_stay() {
        for (text, normalized) in [
            ("a\n\n\nb  \n   c", "a\n\n\nb\n c"),
            ("a\r\nb\r\n", "a\nb"),
            (" \n\t ", ""),
            ("a\u{200b}b\u{feff}c", "a\u{200b}b\u{feff}c"),
            ("a\u{b}b\u{c}c\u{85}d\u{2028}e\u{a0}\u{2003}f", "a b c d e f"),
            ("\r\rx\r\ry", "x y"),
        ] {
            assert_eq!(normalize_whitespace(text), normalized, "{text:?}");
        }
    }

    #[test]
    fn json_takes_its_canonical_form_or_is_refused() {
        let canonical = canonicalize_json(r#"{"b":1.0,"a":[1e2,-0.0],"b":2}"#);
        assert_eq!(canonical.as_deref(), Ok(r#"{"a":[100,0],"b":2}"#));
        assert!(canonicalize_json("{\"a\":1}x").is_err());
    }
}
