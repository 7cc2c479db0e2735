//! Byte offsets and the editor's lines and UTF-16 columns.

use lsp_types::{Position, Range};
use stave_diag::Span;

/// Where the lines of a text begin.
#[derive(Debug, Clone)]
pub struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    #[must_use]
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (index, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(index + 1) != Some(&b'\n')) {
                starts.push(index + 1);
            }
        }
        LineIndex { starts }
    }

    /// The position of an offset; one inside a character counts as the character's start.
    #[must_use]
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset).max(1) - 1;
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = text.get(start..offset).unwrap_or_default();
        let column = before.chars().map(char::len_utf16).sum::<usize>();
        let clamp = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Position { line: clamp(line), character: clamp(column) }
    }

    /// The offset of a position; one past the end of its line is that end, past the text its end.
    #[must_use]
    pub fn offset(&self, text: &str, position: Position) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else { return text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let mut column = 0;
        for (index, character) in content.char_indices() {
            if column + character.len_utf16() > position.character as usize {
                return start + index;
            }
            column += character.len_utf16();
        }
        start + content.len()
    }

    #[must_use]
    pub fn range(&self, text: &str, span: Span) -> Range {
        let range = span.range();
        Range { start: self.position(text, range.start), end: self.position(text, range.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf_16_units() {
        let text = "a: \u{1f600}é\r\nb: x\n";
        let places = LineIndex::new(text);
        let at = |offset| {
            let position = places.position(text, offset);
            (position.line, position.character)
        };
        assert_eq!(at(text.find('é').unwrap()), (0, 5));
        assert_eq!(at(text.find('b').unwrap()), (1, 0));
        assert_eq!(at(text.len()), (2, 0));
        assert_eq!(places.offset(text, Position { line: 0, character: 5 }), text.find('é').unwrap());
        assert_eq!(places.offset(text, Position { line: 0, character: 4 }), 3, "inside a pair is its start");
        assert_eq!(places.offset(text, Position { line: 0, character: 99 }), text.find('\r').unwrap());
        assert_eq!(places.offset(text, Position { line: 9, character: 0 }), text.len());
    }

    proptest::proptest! {
        #[test]
        fn every_boundary_survives_the_way_and_back(text in "[aé漢😀\r\n]{0,30}") {
            let places = LineIndex::new(&text);
            for (offset, character) in text.char_indices() {
                if character != '\n' || !text[..offset].ends_with('\r') {
                    let position = places.position(&text, offset);
                    proptest::prop_assert_eq!(places.offset(&text, position), offset);
                }
            }
        }
    }
}
