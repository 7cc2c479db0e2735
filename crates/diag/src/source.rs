//! Source texts, byte spans, and the line and column a person counts.

use std::sync::Arc;

/// Which source of a [`Sources`] a span points into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A byte range in one source. `start <= end`, both on character boundaries.
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

    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
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
/// character each count as one; a byte order mark does not count).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

/// One source text with its line starts.
#[derive(Debug, Clone)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Vec<u32>,
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
        Source { name: name.into(), text, line_starts }
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

    /// The place of a byte offset. Offsets past the end, or inside a character, count as the nearest
    /// boundary before them.
    #[must_use]
    pub fn line_column(&self, offset: usize) -> LineColumn {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_starts.partition_point(|start| *start as usize <= offset).max(1) - 1;
        let start = self.line_starts.get(line).map_or(0, |start| *start as usize);
        let before = self.text.get(start..offset).unwrap_or_default();
        let counted = if line == 0 { before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before) } else { before };
        LineColumn {
            line: u32::try_from(line + 1).unwrap_or(u32::MAX),
            column: u32::try_from(counted.chars().count() + 1).unwrap_or(u32::MAX),
        }
    }

    /// The byte offset of a place; a column past the end of its line is that end. `None` past the last line.
    #[must_use]
    pub fn offset(&self, place: LineColumn) -> Option<usize> {
        let range = self.line_range(place.line)?;
        let line = self.text.get(range.clone())?;
        let mark = if range.start == 0 && line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        let ahead = line.get(mark..)?.char_indices().nth(place.column.saturating_sub(1) as usize);
        Some(range.start + mark + ahead.map_or(line.len() - mark, |(index, _)| index))
    }

    /// The bytes of a line, counted from 1, without its line ending.
    #[must_use]
    pub fn line_range(&self, line: u32) -> Option<std::ops::Range<usize>> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.line_starts.get(index)? as usize;
        let end = self.line_starts.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        let text = self.text.get(start..end)?;
        Some(start..start + text.trim_end_matches(['\n', '\r']).len())
    }
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

    /// The text a span covers; empty when the span is of no source here.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.source).and_then(|source| source.text().get(span.range())).unwrap_or_default()
    }

    /// Where a span begins and ends.
    #[must_use]
    pub fn place(&self, span: Span) -> Option<(LineColumn, LineColumn)> {
        let source = self.get(span.source)?;
        Some((source.line_column(span.start as usize), source.line_column(span.end as usize)))
    }

    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.0.iter().enumerate().map(|(index, source)| (SourceId(index as u32), source))
    }
}
