//! A text in lower case that knows the place of each part in the original.

use std::ops::Range;

/// The lower case of a text, as Python's `str.lower` gives it, with the final sigma rule applied over
/// the whole text.
#[derive(Debug)]
pub(super) struct Lowered<'t> {
    original: &'t str,
    text: String,
}

impl<'t> Lowered<'t> {
    pub(super) fn new(original: &'t str) -> Self {
        Lowered { original, text: original.to_lowercase() }
    }

    /// The bytes of the original that the first occurrence of a lowered keyword came from. A keyword
    /// that covers only a part of what one character lowers to covers that whole character.
    pub(super) fn find(&self, keyword: &str) -> Option<Range<usize>> {
        let start = self.text.find(keyword)?;
        let end = start + keyword.len();
        let mut range: Option<Range<usize>> = None;
        let mut lowered_at = 0;
        for (at, character) in self.original.char_indices() {
            // The two forms of a lowered sigma have the same length, so context does not matter here.
            let lowered_end = lowered_at + character.to_lowercase().map(char::len_utf8).sum::<usize>();
            let character_end = at + character.len_utf8();
            if lowered_at < end && start < lowered_end {
                let from = range.map_or(at, |range| range.start);
                range = Some(from..character_end);
            }
            lowered_at = lowered_end;
        }
        Some(range.unwrap_or(0..0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_original() {
        let find = |text: &str, keyword: &str| {
            Lowered::new(text).find(&keyword.to_lowercase()).map(|range| text[range].to_owned())
        };
        assert_eq!(find("Please DELETE ALL rows", "delete all"), Some("DELETE ALL".to_owned()));
        // U+0130 lowers to two characters, U+212A (kelvin) to one shorter character.
        assert_eq!(find("\u{130}\u{130} DROP", "drop"), Some("DROP".to_owned()));
        assert_eq!(find("\u{212a}\u{212a} BYPASS \u{212a}", "bypass"), Some("BYPASS".to_owned()));
        assert_eq!(find("a\u{130}b", "i"), Some("\u{130}".to_owned()));
        assert_eq!(find("anything", ""), Some(String::new()));
        assert_eq!(find("STRASSE", "straße"), None);
    }

    #[test]
    fn a_sigma_at_the_end_of_a_word_is_another_letter() {
        assert_eq!(Lowered::new("ΟΔΟΣΜΟΥ").find(&"ΟΔΟΣ".to_lowercase()), None);
        assert_eq!(Lowered::new("ΟΔΟΣ").find(&"ΟΔΟΣ".to_lowercase()), Some(0..8));
    }
}
