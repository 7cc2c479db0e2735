//! Text that stands inside another source: a template, a script or a schema in a YAML scalar.

use crate::{SourceId, Span};

/// A decoded text together with where each part of it came from, so that a finding inside the text has
/// a place in the file the author wrote.
///
/// Invariant: `pieces` is sorted by `text_start`, its first piece starts at 0, and every offset is on a
/// character boundary of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedded {
    text: String,
    source: SourceId,
    pieces: Vec<Piece>,
}

/// From `text_start` on, the embedded text was written at `source_start`, up to the next piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub text_start: u32,
    pub source_start: u32,
    /// How many source bytes the piece was written with; it differs from its length in the text where
    /// an escape or a fold was decoded.
    pub source_len: u32,
}

impl Embedded {
    /// A text whose pieces the reader of the outer syntax recorded.
    #[must_use]
    pub fn new(text: String, source: SourceId, pieces: Vec<Piece>) -> Self {
        Embedded { text, source, pieces }
    }

    /// A text that stands in its source exactly as it is, from `start` on.
    #[must_use]
    pub fn verbatim(text: impl Into<String>, source: SourceId, start: usize) -> Self {
        let text = text.into();
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        let piece = Piece { text_start: 0, source_start: clamp(start), source_len: clamp(text.len()) };
        Embedded { text, source, pieces: vec![piece] }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The place in the outer source of a byte range of the text.
    #[must_use]
    pub fn span(&self, range: std::ops::Range<usize>) -> Span {
        let start = self.outer(range.start, false);
        let end = if range.end > range.start { self.outer(range.end, true) } else { start };
        Span::new(self.source, start, end.max(start))
    }

    /// The whole text's place.
    #[must_use]
    pub fn whole(&self) -> Span {
        self.span(0..self.text.len())
    }

    /// An end offset belongs to the piece before it, so that a range ending at a line's end does not
    /// reach into the next line's indentation.
    fn outer(&self, offset: usize, is_end: bool) -> usize {
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        let after = self.pieces.partition_point(|piece| {
            if is_end { piece.text_start < offset } else { piece.text_start <= offset }
        });
        let Some(piece) = after.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return self.pieces.first().map_or(0, |piece| piece.source_start as usize);
        };
        let into = (offset - piece.text_start).min(piece.source_len);
        (piece.source_start + into) as usize
    }
}
