//! Renderers: one file per output format. Each turns findings and their sources into text and writes
//! nothing anywhere.
//!
//! Invariant: rendering never fails and never panics, whatever the spans and texts are; control characters
//! of untrusted text never reach a terminal.

pub mod github;
pub mod json;
pub mod sarif;
pub mod short;
mod summary;
pub mod terminal;

pub use summary::summary;

/// Whether to put colours into the text. The caller knows whether it goes to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Always,
    Never,
}

/// The text with every character that could move the cursor, change colours or reorder the line shown as a
/// visible sign instead. Line feeds and tabs stay.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars().map(visible_character).collect()
}

fn visible_character(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + character as u32).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}' => '␡',
        '\u{80}'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ => character,
    }
}

/// Indented JSON with a line feed at its end. The structures of this module have text keys only, so nothing
/// in them can fail to be written.
fn json_text(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_steer_a_terminal_become_visible() {
        assert_eq!(visible("a\x1b[31m\rb\u{9b}2J\u{202e}c\td\n"), "a␛[31m␍b\u{fffd}2J\u{fffd}c\td\n");
    }

    proptest::proptest! {
        #[test]
        fn visible_text_has_no_control_characters(text in proptest::prelude::any::<String>()) {
            proptest::prop_assert!(visible(&text).chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        }
    }
}
