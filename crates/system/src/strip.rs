//! White space around identifiers.

/// The text without the white space around it, as the specification's own implementation understands
/// white space: Unicode's, and the four separator control characters U+001C to U+001F.
#[must_use]
pub fn strip(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_white_space_and_zero_width_characters_are_not() {
        assert_eq!(strip("\u{1c}\u{1d}\u{1e}\u{1f}\t\u{85}\u{a0}\u{3000}x\u{2028} "), "x");
        assert_eq!(strip("\u{200b}x\u{feff}"), "\u{200b}x\u{feff}");
        assert_eq!(strip(" \u{1f} "), "");
    }
}
