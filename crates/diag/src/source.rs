//! Source texts, byte spans, and the line and column a person counts.
//!
//! Invariant: whatever offsets a span holds, the functions here answer with offsets inside the text and
//! on character boundaries, so nothing that displays a span can fail.

use std::ops::Range;
use std::sync::Arc;

/// Which source of a [`Sources`] a span points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A byte range in one source, `start <= end`. Makers of spans keep them on character boundaries; where
/// one does not, [`Sources::clamp`] widens it to whole characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub source: SourceId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    #[must_use]
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { source, start: clamp(start), end: clamp(end.max(start)) }
    }

    /// A place between two characters.
    #[must_use]
    pub fn at(source: SourceId, offset: usize) -> Self {
        Span::new(source, offset, offset)
    }

    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The smallest span that covers both. They must be of the same source.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        debug_assert_eq!(self.source, other.source, "spans of two sources have no common cover");
        Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A place as a person counts it: both from 1, columns in characters (a tab, a wide or a combining
/// character each count as one; a byte order mark does not count; a line ending is not part of its line).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

impl LineColumn {
    /// Where every text begins.
    pub const FIRST: LineColumn = LineColumn { line: 1, column: 1 };
}

/// One source text with its line starts.
#[derive(Debug, Clone)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Vec<u32>,
    /// Whether bytes are columns, so that a place on a line of megabytes is found without reading the line.
    is_ascii: bool,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl Source {
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let bytes = text.as_bytes();
        let mut line_starts = vec![0];
        for (index, byte) in bytes.iter().enumerate() {
            // A lone carriage return ends a line too, as YAML has it; a pair ends one line.
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(index + 1) != Some(&b'\n'));
            if ends {
                line_starts.push(u32::try_from(index + 1).unwrap_or(u32::MAX));
            }
        }
        let is_ascii = text.is_ascii();
        Source { name: name.into(), text, line_starts, is_ascii }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines the text has; an empty text has one.
    #[must_use]
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// The place of a byte offset. Offsets past the end, inside a character or inside a line ending count
    /// as the nearest boundary before them.
    #[must_use]
    pub fn line_column(&self, offset: usize) -> LineColumn {
        let offset = self.text.floor_char_boundary(offset);
        let index = self.line_starts.partition_point(|start| *start as usize <= offset).max(1) - 1;
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let range = self.line_range(line).unwrap_or_default();
        let before = self.text.get(range.start..offset.min(range.end)).unwrap_or_default();
        let characters = if self.is_ascii { before.len() } else { before.chars().count() };
        let column = u32::try_from(characters + 1).unwrap_or(u32::MAX);
        LineColumn { line, column }
    }

    /// The byte offset of a place; a column past the end of its line is that end. `None` past the last line.
    #[must_use]
    pub fn offset(&self, place: LineColumn) -> Option<usize> {
        let range = self.line_range(place.line)?;
        let line = self.text.get(range.clone())?;
        let ahead = line.char_indices().nth(place.column.saturating_sub(1) as usize);
        Some(ahead.map_or(range.end, |(index, _)| range.start + index))
    }

    /// The bytes of a line, counted from 1, without its line ending and without a byte order mark.
    #[must_use]
    pub fn line_range(&self, line: u32) -> Option<Range<usize>> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.line_starts.get(index)? as usize;
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        let text = self.text.get(start..end)?;
        let mark =
            if start == 0 && text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        let body = text.strip_suffix('\n').unwrap_or(text);
        let body = body.strip_suffix('\r').unwrap_or(body);
        Some(start + mark..start + body.len())
    }

    /// The range cut to the text and widened to whole characters; an empty range stays empty.
    #[must_use]
    pub fn clamp(&self, range: Range<usize>) -> Range<usize> {
        whole_characters(&self.text, range)
    }
}

/// The range cut to the text and widened to whole characters; an empty range stays empty.
pub(crate) fn whole_characters(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(range.start);
    if range.end <= range.start {
        return start..start;
    }
    start..text.ceil_char_boundary(range.end).max(start)
}

/// The sources of one invocation.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceId {
        self.0.push(Source::new(name, text));
        SourceId(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.0.get(id.0 as usize)
    }

    /// The name of a source, as output shows it; `<unknown>` for an id that is not of these sources.
    #[must_use]
    pub fn name(&self, id: SourceId) -> &str {
        self.get(id).map_or("<unknown>", Source::name)
    }

    /// The span cut to its text and widened to whole characters. A span of no source here becomes empty.
    #[must_use]
    pub fn clamp(&self, span: Span) -> Span {
        let range = self.get(span.source).map_or(0..0, |source| source.clamp(span.range()));
        Span::new(span.source, range.start, range.end)
    }

    /// The text a span covers; empty when the span is of no source here.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        let range = self.clamp(span).range();
        self.get(span.source).and_then(|source| source.text().get(range)).unwrap_or_default()
    }

    /// Where a span begins and ends; the end is the place after its last character.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<(LineColumn, LineColumn)> {
        let source = self.get(span.source)?;
        let range = source.clamp(span.range());
        Some((source.line_column(range.start), source.line_column(range.end)))
    }

    /// Where a span begins and ends, or the first place when the span is of no source here.
    pub(crate) fn place_or_first(&self, span: Span) -> (LineColumn, LineColumn) {
        self.place(span).unwrap_or((LineColumn::FIRST, LineColumn::FIRST))
    }

    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        (0..).map(SourceId).zip(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u32, column: u32) -> LineColumn {
        LineColumn { line, column }
    }

    fn source(text: &str) -> Source {
        Source::new("flow.yaml", text)
    }

    #[test]
    fn lines_end_at_every_kind_of_line_ending() {
        let source = source("a\nb\r\nc\rd");
        assert_eq!(source.line_count(), 4);
        for (offset, expected) in [(0, (1, 1)), (2, (2, 1)), (5, (3, 1)), (7, (4, 1)), (8, (4, 2))] {
            assert_eq!(source.line_column(offset), place(expected.0, expected.1), "offset {offset}");
        }
    }

    #[test]
    fn a_line_ending_is_no_part_of_its_line() {
        let source = source("ab\r\ncd\n");
        assert_eq!(source.line_range(1), Some(0..2));
        assert_eq!(source.line_range(2), Some(4..6));
        assert_eq!(source.line_range(3), Some(7..7));
        assert_eq!(source.line_range(4), None);
        assert_eq!(source.line_range(0), None);
        assert_eq!(source.line_column(2), place(1, 3));
        assert_eq!(source.line_column(3), place(1, 3), "between the two characters of the ending");
    }

    #[test]
    fn a_carriage_return_before_a_pair_is_a_line_of_its_own() {
        let source = source("a\r\r\nb");
        assert_eq!(source.line_count(), 3);
        assert_eq!(source.line_range(1), Some(0..1));
        assert_eq!(source.line_range(2), Some(2..2));
        assert_eq!(source.line_range(3), Some(4..5));
    }

    #[test]
    fn columns_count_characters() {
        // A tab, a wide ideograph, a letter with a combining accent, and a character outside the basic plane.
        let source = source("\t漢e\u{301}😀x");
        let columns: Vec<u32> =
            source.text().char_indices().map(|(offset, _)| source.line_column(offset).column).collect();
        assert_eq!(columns, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_byte_order_mark_does_not_count() {
        let source = source("\u{feff}key: 1");
        assert_eq!(source.line_column(0), place(1, 1));
        assert_eq!(source.line_column(1), place(1, 1));
        assert_eq!(source.line_column(3), place(1, 1));
        assert_eq!(source.line_column(4), place(1, 2));
        assert_eq!(source.offset(place(1, 1)), Some(3));
        assert_eq!(source.line_range(1), Some(3..9));
    }

    #[test]
    fn a_mark_elsewhere_is_a_character_like_another() {
        assert_eq!(source("a\n\u{feff}b").line_column(5), place(2, 2));
    }

    #[test]
    fn an_empty_text_has_one_empty_line() {
        let source = source("");
        assert_eq!(source.line_count(), 1);
        assert_eq!(source.line_column(0), place(1, 1));
        assert_eq!(source.line_column(9), place(1, 1));
        assert_eq!(source.offset(place(1, 7)), Some(0));
        assert_eq!(source.offset(place(2, 1)), None);
    }

    #[test]
    fn the_end_of_the_file_is_a_place() {
        assert_eq!(source("ab").line_column(2), place(1, 3));
        assert_eq!(source("ab\n").line_column(3), place(2, 1));
        assert_eq!(source("ab\n").line_column(99), place(2, 1));
    }

    #[test]
    fn a_span_inside_a_character_covers_the_character() {
        let mut sources = Sources::new();
        let id = sources.add("flow.yaml", "a漢b");
        assert_eq!(sources.clamp(Span::new(id, 2, 3)), Span::new(id, 1, 4));
        assert_eq!(sources.slice(Span::new(id, 2, 3)), "漢");
        assert_eq!(sources.clamp(Span::at(id, 2)), Span::at(id, 1));
        assert_eq!(sources.clamp(Span::new(id, 4, 400)), Span::new(id, 4, 5));
        assert_eq!(sources.clamp(Span::new(id, 90, 400)), Span::new(id, 5, 5));
        assert_eq!(sources.place(Span::new(id, 2, 3)), Some((place(1, 2), place(1, 3))));
    }

    #[test]
    fn a_span_of_another_set_of_sources_is_empty() {
        let sources = Sources::new();
        let stranger = Span::new(SourceId(3), 1, 2);
        assert_eq!(sources.slice(stranger), "");
        assert_eq!(sources.place(stranger), None);
        assert_eq!(sources.name(stranger.source), "<unknown>");
        assert!(sources.clamp(stranger).is_empty());
    }

    #[test]
    fn the_cover_of_two_spans_holds_both() {
        let id = SourceId(0);
        assert_eq!(Span::new(id, 4, 6).to(Span::new(id, 1, 5)), Span::new(id, 1, 6));
        assert_eq!(Span::new(id, 6, 4), Span::at(id, 6), "an end before the start is the start");
    }

    proptest::proptest! {
        #[test]
        fn every_boundary_survives_the_way_to_a_place_and_back(text in "[a漢\u{301}\t\r\n\u{feff}😀]{0,40}") {
            let source = source(&text);
            for (offset, character) in text.char_indices() {
                let inside_ending = character == '\n' && text[..offset].ends_with('\r');
                let mark = offset == 0 && character == '\u{feff}';
                if !inside_ending && !mark {
                    let place = source.line_column(offset);
                    proptest::prop_assert_eq!(source.offset(place), Some(offset));
                }
            }
        }

        #[test]
        fn places_never_go_backwards(text in "\\PC{0,40}|[a\r\n]{0,40}") {
            let source = source(&text);
            let places: Vec<LineColumn> =
                (0..text.len() + 3).map(|offset| source.line_column(offset)).collect();
            proptest::prop_assert!(places.is_sorted());
        }
    }
}
