//! Places of a text as a browser counts them: offsets in UTF-16 code units.

use stave_diag::{Source, Span};

use crate::api::text_types::Range;

/// A text with its places.
#[derive(Debug)]
pub(super) struct Places {
    source: Source,
    /// For each byte, the UTF-16 offset of its character; none for ASCII, where both are the same.
    units: Option<Vec<u32>>,
}

impl Places {
    pub(super) fn new(text: &str) -> Places {
        let units = (!text.is_ascii()).then(|| {
            let mut units = Vec::with_capacity(text.len() + 1);
            let mut offset: u32 = 0;
            for letter in text.chars() {
                units.extend(std::iter::repeat_n(offset, letter.len_utf8()));
                offset = offset.saturating_add(if letter.len_utf16() == 2 { 2 } else { 1 });
            }
            units.push(offset);
            units
        });
        Places { source: Source::new("flow", text), units }
    }

    pub(super) fn text(&self) -> &str {
        self.source.text()
    }

    /// The browser's offset of a byte.
    pub(super) fn unit(&self, byte: usize) -> u32 {
        let byte = byte.min(self.source.text().len());
        match &self.units {
            None => u32::try_from(byte).unwrap_or(u32::MAX),
            Some(units) => units.get(byte).copied().unwrap_or_default(),
        }
    }

    /// The byte of a browser's offset; one inside a character is the character's start.
    pub(super) fn byte(&self, unit: u64) -> usize {
        let length = self.source.text().len();
        let unit = usize::try_from(unit).unwrap_or(usize::MAX);
        match &self.units {
            None => unit.min(length),
            Some(units) => {
                let after = units.partition_point(|offset| *offset as usize <= unit);
                let found = units.get(after.saturating_sub(1)).copied().unwrap_or_default();
                units.partition_point(|offset| *offset < found).min(length)
            }
        }
    }

    /// A span without the blank lines after it.
    pub(super) fn trimmed(&self, span: Span) -> Range {
        let mut range = span.range();
        let text = self.text().get(range.clone()).unwrap_or_default();
        range.end = range.start + text.trim_end().len();
        self.range_of(range)
    }

    /// A span with offsets, lines and columns.
    pub(super) fn range(&self, span: Span) -> Range {
        self.range_of(span.range())
    }

    /// Whole lines, from the first to the last.
    pub(super) fn lines(&self, first: u32, last: u32) -> Option<Range> {
        let (start, end) = (self.source.line_range(first)?, self.source.line_range(last)?);
        Some(self.range_of(start.start..end.end))
    }

    pub(super) fn range_of(&self, bytes: std::ops::Range<usize>) -> Range {
        let bytes = self.source.clamp(bytes);
        let (start, end) = (self.source.line_column(bytes.start), self.source.line_column(bytes.end));
        Range {
            offset: self.unit(bytes.start),
            end_offset: self.unit(bytes.end),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stave_shape::Shape;

    #[test]
    fn offsets_count_what_a_browser_counts() {
        let places = Places::new("a🎵b\né");
        assert_eq!(places.unit(1), 1);
        assert_eq!(places.unit(5), 3);
        assert_eq!((places.byte(2), places.byte(3), places.byte(99)), (1, 5, 9));
        let range = places.range_of(5..9).write();
        assert_eq!(
            range.to_string(),
            r#"{"offset":3,"end_offset":6,"line":1,"column":3,"end_line":2,"end_column":2}"#
        );
    }

    proptest! {
        #[test]
        fn every_character_is_found_again(text in any::<String>(), wild in any::<u64>()) {
            let places = Places::new(&text);
            for (byte, _) in text.char_indices() {
                prop_assert_eq!(places.byte(places.unit(byte).into()), byte);
            }
            prop_assert!(text.is_char_boundary(places.byte(wild)));
            let units: usize = text.chars().map(char::len_utf16).sum();
            prop_assert_eq!(places.unit(text.len()) as usize, units);
        }
    }
}
