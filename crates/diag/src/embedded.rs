//! Text embedded in another source: a template, a script or a schema in a YAML scalar.

use std::ops::Range;
use std::sync::Arc;

use crate::{SourceId, Span};

/// A decoded text together with where each part of it came from, so that a finding inside the text has
/// a place in the file the author wrote.
///
/// Invariant: `pieces` is sorted by `text_start`, its first piece starts at 0, and every offset is on a
/// character boundary of its text. A piece of the same length in text and source was written as it reads;
/// any other piece is one decoded character, which has no inner places.
///
/// A copy shares the text, since a model and the tree that it was read from both hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedded {
    text: Arc<str>,
    source: SourceId,
    pieces: Pieces,
}

/// Most texts appear in their source unchanged, and need no list.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pieces {
    One(Piece),
    Several(Arc<[Piece]>),
}

impl Pieces {
    fn as_slice(&self) -> &[Piece] {
        match self {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Several(pieces) => pieces,
        }
    }
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
    pub fn new(text: impl Into<Arc<str>>, source: SourceId, pieces: &[Piece]) -> Self {
        let pieces = match pieces {
            [only] => Pieces::One(*only),
            several => Pieces::Several(several.into()),
        };
        Embedded { text: text.into(), source, pieces }
    }

    /// A text that appears in its source unchanged, from `start` on.
    #[must_use]
    pub fn verbatim(text: impl Into<Arc<str>>, source: SourceId, start: usize) -> Self {
        let text = text.into();
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        let piece = Piece { text_start: 0, source_start: clamp(start), source_len: clamp(text.len()) };
        Embedded { text, source, pieces: Pieces::One(piece) }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The place in the outer source of a byte range of the text. A range that begins or ends inside an
    /// escape covers the whole escape.
    #[must_use]
    pub fn span(&self, range: Range<usize>) -> Span {
        let start = self.outer(range.start, Side::Start);
        let end = if range.end > range.start { self.outer(range.end, Side::End) } else { start };
        Span::new(self.source, start, end)
    }

    /// The whole text's place.
    #[must_use]
    pub fn whole(&self) -> Span {
        self.span(0..self.text.len())
    }

    fn outer(&self, offset: usize, side: Side) -> usize {
        let offset = self.boundary(offset, side);
        let pieces = self.pieces.as_slice();
        let after = pieces.partition_point(|piece| match side {
            Side::Start => piece.text_start as usize <= offset,
            Side::End => (piece.text_start as usize) < offset,
        });
        let Some((index, piece)) = after.checked_sub(1).and_then(|index| Some((index, pieces.get(index)?)))
        else {
            return pieces.first().map_or(0, |piece| piece.source_start as usize);
        };
        let text_end = pieces.get(index + 1).map_or(self.text.len(), |next| next.text_start as usize);
        let text_len = text_end.saturating_sub(piece.text_start as usize);
        let source_len = piece.source_len as usize;
        let into_text = offset.saturating_sub(piece.text_start as usize);
        let into_source = if into_text >= text_len { source_len } else { into_text.min(source_len) };
        piece.source_start as usize + into_source
    }

    fn boundary(&self, offset: usize, side: Side) -> usize {
        match side {
            Side::Start => self.text.floor_char_boundary(offset),
            Side::End => self.text.ceil_char_boundary(offset),
        }
    }
}

/// An end offset belongs to the piece before it, so that a range ending at a line's end does not reach
/// into the next line's indentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Start,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sources;

    fn piece(text_start: u32, source_start: u32, source_len: u32) -> Piece {
        Piece { text_start, source_start, source_len }
    }

    /// Checks each `(part of the text, its form in the source)` pair.
    fn assert_maps(source_text: &str, text: &str, pieces: &[Piece], pairs: &[(&str, &str)]) {
        let mut sources = Sources::new();
        let id = sources.add("flow.yaml", source_text);
        let embedded = Embedded::new(text, id, pieces);
        for (part, written) in pairs {
            let start = text.find(part).expect("the text contains the part");
            let span = embedded.span(start..start + part.len());
            assert_eq!(&sources.slice(span), written, "{part:?}");
        }
    }

    #[test]
    fn verbatim_text_is_moved_only() {
        let mut sources = Sources::new();
        let id = sources.add("flow.yaml", "when: x > 1");
        let embedded = Embedded::verbatim("x > 1", id, 6);
        assert_eq!(embedded.text(), "x > 1");
        assert_eq!(sources.slice(embedded.whole()), "x > 1");
        assert_eq!(sources.slice(embedded.span(4..5)), "1");
        assert_eq!(embedded.span(5..5), Span::at(id, 11));
        assert_eq!(embedded.span(9..12), Span::at(id, 11), "past the end is the end");
    }

    #[test]
    fn lines_of_a_block_scalar_lose_their_indentation() {
        let source = "code: |\n    def f():\n        return 1\n";
        let pieces = vec![piece(0, 12, 9), piece(9, 25, 13)];
        let text = "def f():\n    return 1\n";
        assert_maps(source, text, &pieces, &[("def", "def"), ("f():\n", "f():\n"), ("return 1", "return 1")]);
    }

    #[test]
    fn a_range_ending_at_a_line_end_stays_on_its_line() {
        let source = "code: |\n    aa\n    bb\n";
        let pieces = vec![piece(0, 12, 3), piece(3, 19, 3)];
        assert_maps(source, "aa\nbb\n", &pieces, &[("aa\n", "aa\n"), ("bb", "bb"), ("aa\nbb", "aa\n    bb")]);
    }

    #[test]
    fn carriage_returns_before_line_feeds_belong_to_the_ending() {
        let source = "code: |\r\n  a\r\n  b\r\n";
        let pieces = vec![piece(0, 11, 1), piece(1, 12, 2), piece(2, 16, 1), piece(3, 17, 2)];
        assert_maps(
            source,
            "a\nb\n",
            &pieces,
            &[("a", "a"), ("\n", "\r\n"), ("b", "b"), ("a\nb", "a\r\n  b")],
        );
    }

    #[test]
    fn an_escape_is_covered_whole() {
        let source = r#"x: "caf\u00e9 ok""#;
        let pieces = vec![piece(0, 4, 3), piece(3, 7, 6), piece(5, 13, 3)];
        let pairs = [("caf", "caf"), ("é", r"\u00e9"), ("ok", "ok"), ("fé o", r"f\u00e9 o")];
        assert_maps(source, "café ok", &pieces, &pairs);
    }

    #[test]
    fn an_escape_at_the_end_is_covered_whole() {
        let source = "x: 'it''s'''";
        let pieces = vec![piece(0, 4, 2), piece(2, 6, 2), piece(3, 8, 1), piece(4, 9, 2)];
        assert_maps(source, "it's'", &pieces, &[("it'", "it''"), ("s'", "s''"), ("it's'", "it''s''")]);
    }

    #[test]
    fn an_empty_range_after_a_trailing_escape_is_its_end() {
        let embedded = Embedded::new("a\n", SourceId(0), &[piece(0, 4, 1), piece(1, 5, 2)]);
        assert_eq!(embedded.span(2..2), Span::at(SourceId(0), 7));
    }

    #[test]
    fn a_fold_is_covered_whole() {
        let source = "x: >\n  one\n  two\n";
        let pieces = vec![piece(0, 7, 3), piece(3, 10, 3), piece(4, 13, 4)];
        assert_maps(source, "one two\n", &pieces, &[("one", "one"), (" ", "\n  "), ("two", "two")]);
    }

    #[test]
    fn an_empty_text_has_a_place() {
        let embedded = Embedded::new("", SourceId(0), &[]);
        assert_eq!(embedded.whole(), Span::at(SourceId(0), 0));
        let embedded = Embedded::verbatim("", SourceId(0), 5);
        assert_eq!(embedded.whole(), Span::at(SourceId(0), 5));
    }

    #[test]
    fn a_range_inside_a_character_covers_the_character() {
        let embedded = Embedded::verbatim("漢字", SourceId(0), 10);
        assert_eq!(embedded.span(4..5), Span::new(SourceId(0), 13, 16));
    }
}
