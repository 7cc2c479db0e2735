//! Where each part of a decoded scalar was written.
//!
//! Escapes, folding, indentation and chomping make a scalar's text differ from its source. The source
//! is walked once more by the rules of its style, and every run that is in the text as it is in
//! the source becomes a piece. What lies between two runs of the text is folded white space.

use std::ops::Range;

use granit_parser::ScalarStyle;
use stave_diag::Piece;

/// The pieces of `text`, which was decoded from `range` of `source`. For block scalars the range begins
/// at the first content character, so that its column is the indentation.
pub(crate) fn pieces(source: &str, range: Range<usize>, style: ScalarStyle, text: &str) -> Vec<Piece> {
    let mut runs = Runs { text, cursor: 0, pieces: Vec::new(), end: range.start, last_verbatim: false };
    let slice = source.get(range.clone()).unwrap_or_default();
    match style {
        ScalarStyle::Literal | ScalarStyle::Folded => runs.block(source, range, style),
        ScalarStyle::Plain => runs.lines(slice, range.start),
        ScalarStyle::SingleQuoted => runs.single_quoted(inside(slice), range.start + 1),
        ScalarStyle::DoubleQuoted => runs.double_quoted(inside(slice), range.start + 1),
    }
    runs.finish()
}

fn inside(quoted: &str) -> &str {
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default()
}

struct Runs<'text> {
    text: &'text str,
    /// How much of the text has a place.
    cursor: usize,
    pieces: Vec<Piece>,
    /// Where the last run ended in the source.
    end: usize,
    /// Whether the last piece is in the text as it is in the source.
    last_verbatim: bool,
}

impl Runs<'_> {
    /// A run of the source that is in the text unchanged.
    fn verbatim(&mut self, run: &str, start: usize) {
        self.decoded(run, start, run.len());
    }

    /// `source_len` bytes at `start` that became `decoded` in the text.
    fn decoded(&mut self, decoded: &str, start: usize, source_len: usize) {
        if decoded.is_empty() {
            return;
        }
        while let Some(rest) = self.text.get(self.cursor..)
            && !rest.starts_with(decoded)
            && rest.starts_with([' ', '\n'])
        {
            let gap = start.saturating_sub(self.end);
            self.push(self.cursor, self.end, gap, false);
            self.cursor += 1;
        }
        if !self.text.get(self.cursor..).is_some_and(|rest| rest.starts_with(decoded)) {
            return;
        }
        let verbatim = source_len == decoded.len();
        self.push(self.cursor, start, source_len, verbatim);
        self.cursor += decoded.len();
        self.end = start + source_len;
    }

    fn push(&mut self, text_start: usize, source_start: usize, source_len: usize, verbatim: bool) {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        let (text_start, source_start, source_len) =
            (clamp(text_start), clamp(source_start), clamp(source_len));
        if let Some(last) = self.pieces.last_mut()
            && self.last_verbatim
            && verbatim
            && last.text_start + last.source_len == text_start
            && last.source_start + last.source_len == source_start
        {
            last.source_len += source_len;
            return;
        }
        self.last_verbatim = verbatim;
        self.pieces.push(Piece { text_start, source_start, source_len });
    }

    /// Line breaks ahead of the first run and behind the last have no place of their own.
    fn finish(mut self) -> Vec<Piece> {
        if self.cursor < self.text.len() || self.pieces.is_empty() {
            self.push(self.cursor, self.end, 0, false);
        }
        self.pieces
    }

    /// Lines whose surrounding white space was folded away.
    fn lines(&mut self, slice: &str, start: usize) {
        let lines = lines(slice);
        let last = lines.len().saturating_sub(1);
        for (index, (offset, line)) in lines.into_iter().enumerate() {
            let blank = [' ', '\t'];
            let left = if index == 0 { 0 } else { line.len() - line.trim_start_matches(blank).len() };
            let line = if index == last { line } else { line.trim_end_matches(blank) };
            self.verbatim(line.get(left..).unwrap_or_default(), start + offset + left);
        }
    }

    fn single_quoted(&mut self, slice: &str, start: usize) {
        let mut from = 0;
        while let Some(pair) = slice.get(from..).and_then(|rest| rest.find("''")) {
            let quote = from + pair;
            self.lines(slice.get(from..quote).unwrap_or_default(), start + from);
            self.decoded("'", start + quote, 2);
            from = quote + 2;
        }
        self.lines(slice.get(from..).unwrap_or_default(), start + from);
    }

    fn double_quoted(&mut self, slice: &str, start: usize) {
        let mut from = 0;
        while let Some(found) = slice.get(from..).and_then(|rest| rest.find('\\')) {
            let at = from + found;
            self.lines(slice.get(from..at).unwrap_or_default(), start + from);
            let (decoded, length) = escape(slice.get(at..).unwrap_or_default());
            if let Some(decoded) = decoded {
                self.decoded(decoded.encode_utf8(&mut [0; 4]), start + at, length);
            }
            from = at + length;
        }
        self.lines(slice.get(from..).unwrap_or_default(), start + from);
    }

    fn block(&mut self, source: &str, range: Range<usize>, style: ScalarStyle) {
        let line_start = source
            .get(..range.start)
            .map_or(0, |before| before.rfind(['\n', '\r']).map_or(0, |newline| newline + 1));
        let indent = range.start - line_start;
        // Blank lines ahead of the content are line breaks of the text with the content's place.
        let slice = source.get(line_start..range.end).unwrap_or_default();
        for (offset, line) in lines(slice) {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let skip = spaces.min(indent);
            let content = line.get(skip..).unwrap_or_default();
            self.verbatim(content, line_start + offset + skip);
            let newline = line_start + offset + line.len();
            let width = line_break(source.get(newline..).unwrap_or_default());
            // The last line of a file may lack the line break that the text has.
            if style == ScalarStyle::Literal && width > 0 {
                self.decoded("\n", newline, width);
            }
        }
    }
}

/// The bytes of the line break that a text begins with.
fn line_break(text: &str) -> usize {
    if text.starts_with("\r\n") { 2 } else { usize::from(text.starts_with(['\n', '\r'])) }
}

/// The lines of a text with their offsets, without line endings.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(['\n', '\r'])) {
        let end = from + found;
        out.push((from, text.get(from..end).unwrap_or_default()));
        from = end + line_break(text.get(end..).unwrap_or_default());
    }
    out.push((from, text.get(from..).unwrap_or_default()));
    out
}

/// The character that an escape sequence means, and the bytes it takes. An escaped line break means
/// nothing and takes the next line's indentation with it.
fn escape(text: &str) -> (Option<char>, usize) {
    let hexadecimal = |from: usize, digits: usize| {
        text.get(from..from + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let simple = |character: char| (Some(character), 2);
    match text.as_bytes().get(1) {
        Some(b'0') => simple('\0'),
        Some(b'a') => simple('\u{7}'),
        Some(b'b') => simple('\u{8}'),
        Some(b't' | b'\t') => simple('\t'),
        Some(b'n') => simple('\n'),
        Some(b'v') => simple('\u{b}'),
        Some(b'f') => simple('\u{c}'),
        Some(b'r') => simple('\r'),
        Some(b'e') => simple('\u{1b}'),
        Some(b'N') => simple('\u{85}'),
        Some(b'_') => simple('\u{a0}'),
        Some(b'L') => simple('\u{2028}'),
        Some(b'P') => simple('\u{2029}'),
        Some(b'x') => (hexadecimal(2, 2).and_then(char::from_u32), 4),
        Some(b'U') => (hexadecimal(2, 8).and_then(char::from_u32), 10),
        Some(b'u') => match (hexadecimal(2, 4), hexadecimal(8, 4)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
                (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
            }
            (code, _) => (code.and_then(char::from_u32), 6),
        },
        Some(b'\n' | b'\r') => {
            let newline = line_break(text.get(1..).unwrap_or_default());
            let after = text.get(1 + newline..).unwrap_or_default();
            (None, 1 + newline + after.len() - after.trim_start_matches([' ', '\t']).len())
        }
        _ => match text.get(1..).and_then(|rest| rest.chars().next()) {
            Some(character) => (Some(character), 1 + character.len_utf8()),
            None => (None, text.len().max(1)),
        },
    }
}
