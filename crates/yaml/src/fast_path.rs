//! The reader for what nearly every flow is made of: block mappings and lists, flow collections, scalars
//! on one line, literal blocks and comments.
//!
//! It makes what the full parser would make, in a fifth of the time, or gives up and makes nothing. It
//! never reports a fault of the syntax: whatever it does not know for certain is left to the full parser,
//! which reads the text from its beginning. A property compares the two on generated and broken texts.

mod scalars;

use granit_parser::{ScalarStyle, StructureStyle};
use stave_diag::SourceId;

use crate::mapping::Mapping;
use crate::read::{Comment, Content, Finished, MAX_DEPTH, MAX_NODES, Reader, YamlDocument};
use crate::{Tree, TreeValue};
use scalars::Scalar;

/// A key up to this long is read here; the full parser knows what a longer one is.
const LONGEST_KEY: usize = 1000;

/// The document, or `None` when the text has something in it that only the full parser knows.
pub(crate) fn read(source: SourceId, text: &str) -> Option<YamlDocument> {
    if !is_ordinary(text.as_bytes()) {
        return None;
    }
    let reader = Reader::new(source, text);
    let mut fast = FastReader { reader, bytes: text.as_bytes(), at: 0, line_start: 0, fresh: true };
    fast.next_token()?;
    fast.node(-1)?;
    if fast.at < fast.bytes.len() || fast.reader.weight > MAX_NODES {
        return None;
    }
    Some(fast.reader.into_document())
}

/// Whether a text has no tabs, no carriage returns, no control characters, no byte order mark and no line
/// breaks outside ASCII.
fn is_ordinary(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        let fits = match (first, after) {
            (b'\n' | 0x20..=0x7e, _) => true,
            (0xc2, [second, ..]) => *second >= 0xa0,
            (0xe2, [0x80, third, ..]) => !matches!(third, 0xa8 | 0xa9),
            (0xef, [0xbb, 0xbf, ..] | [0xbf, 0xbe | 0xbf, ..]) => false,
            (0x80.., _) => true,
            _ => false,
        };
        if !fits {
            return false;
        }
        rest = after;
    }
    true
}

struct FastReader<'text> {
    reader: Reader<'text>,
    bytes: &'text [u8],
    /// Where the next token begins.
    at: usize,
    /// Where the line of the next token begins.
    line_start: usize,
    /// Whether a line break precedes the next token.
    fresh: bool,
}

impl<'text> FastReader<'text> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Whether white space or the end of the text is at an offset.
    fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b' ' | b'\n'))
    }

    fn slice(&self, start: usize, end: usize) -> Option<&'text str> {
        self.reader.text.get(start..end)
    }

    fn column(&self) -> isize {
        isize::try_from(self.at - self.line_start).unwrap_or(isize::MAX)
    }

    /// Goes to the next token, over white space and comments.
    fn next_token(&mut self) -> Option<()> {
        self.fresh = self.at == 0;
        loop {
            match self.peek() {
                Some(b' ') => self.at += 1,
                Some(b'\n') => {
                    self.at += 1;
                    self.line_start = self.at;
                    self.fresh = true;
                }
                Some(b'#') if self.at == self.line_start || self.byte(self.at - 1) == Some(b' ') => {
                    let start = self.at;
                    self.at = self.line_end(start);
                    let span = self.reader.span(start..self.at);
                    self.reader.comment(Comment { span });
                }
                _ => break,
            }
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_marker = self.at == self.line_start && (rest.starts_with(b"---") || rest.starts_with(b"..."));
        (!is_marker).then_some(())
    }

    fn line_end(&self, from: usize) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.iter().position(|byte| *byte == b'\n').map_or(self.bytes.len(), |length| from + length)
    }

    fn is_dash(&self) -> bool {
        self.peek() == Some(b'-') && self.is_blank(self.at + 1)
    }

    fn may_open(&self) -> Option<()> {
        (self.reader.frames.len() + 2 < MAX_DEPTH).then_some(())
    }

    fn done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// A node at the beginning of a line or behind a dash, in a container at the column `parent`.
    fn node(&mut self, parent: isize) -> Option<()> {
        if self.is_dash() {
            return self.sequence(self.column(), self.at);
        }
        let start = self.at;
        match self.peek()? {
            b'[' | b'{' => {
                self.flow(parent)?;
                self.next_token()
            }
            b'|' => self.literal(parent),
            _ => {
                let scalar = self.scalar(false)?;
                self.at = scalar.end;
                let key = self.skip_spaces();
                if self.byte(key) == Some(b':') && self.is_blank(key + 1) {
                    self.at = start;
                    return self.mapping(scalar);
                }
                self.finish_scalar(&scalar)
            }
        }
    }

    /// A value on the line of its key.
    fn value(&mut self, parent: isize) -> Option<()> {
        match self.peek()? {
            b'[' | b'{' => {
                self.flow(parent)?;
                self.next_token()
            }
            b'|' => self.literal(parent),
            _ => {
                let scalar = self.scalar(false)?;
                self.at = scalar.end;
                self.finish_scalar(&scalar)
            }
        }
    }

    fn finish_scalar(&mut self, scalar: &Scalar<'text>) -> Option<()> {
        self.at = scalar.end;
        self.reader.finish_scalar(&scalar.value, scalar.style, scalar.start..scalar.end, 0, None);
        self.next_token()
    }

    fn null(&mut self, at: usize) {
        let tree = Tree { span: self.reader.span(at..at), value: TreeValue::Null };
        self.reader.weight += 1;
        self.reader.finish(Finished { tree, height: 0, weight: 1, plain: true }, 0);
    }

    /// The offset of what follows the spaces at the current one.
    fn skip_spaces(&self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at + rest.iter().take_while(|byte| **byte == b' ').count()
    }

    /// A block mapping whose first key was looked at already.
    fn mapping(&mut self, first: Scalar<'text>) -> Option<()> {
        self.may_open()?;
        let column = self.column();
        let start = first.start;
        self.reader.open(StructureStyle::Block, 0, start..start, Content::Mapping(Mapping::default()));
        let mut key = first;
        loop {
            let end = key.end;
            self.at = end;
            let colon = self.skip_spaces();
            if self.byte(colon) != Some(b':') || !self.is_blank(colon + 1) || end - key.start > LONGEST_KEY {
                return None;
            }
            self.reader.scalar_key(key.value, key.style, key.start..end);
            self.at = colon + 1;
            self.next_token()?;
            if self.done() || (self.fresh && self.column() <= column) {
                if !self.done() && self.column() == column && self.is_dash() {
                    // The full parser has the list begin at its first item.
                    let item = self.at
                        + 1
                        + self.bytes.get(self.at + 1..)?.iter().take_while(|byte| **byte == b' ').count();
                    if self.is_blank(item) || self.byte(item) == Some(b'#') {
                        return None;
                    }
                    self.sequence(column, item)?;
                } else if colon == end {
                    self.null(end);
                } else {
                    return None;
                }
            } else if self.fresh {
                self.node(column)?;
            } else {
                self.value(column)?;
            }
            if self.done() || (self.fresh && self.column() < column) {
                let at = self.at;
                self.reader.close(at..at);
                return Some(());
            }
            if !self.fresh || self.column() != column || self.is_dash() {
                return None;
            }
            key = self.scalar(false)?;
        }
    }

    /// A block list whose dashes are at `column`.
    fn sequence(&mut self, column: isize, start: usize) -> Option<()> {
        self.may_open()?;
        // A list at the column of its key ends at the next key.
        let is_at_key = start != self.at;
        self.reader.open(StructureStyle::Block, 0, start..start, Content::Sequence(Vec::new()));
        loop {
            self.at += 1;
            let dash_end = self.at;
            self.next_token()?;
            if self.done() || (self.fresh && self.column() <= column) {
                if self.byte(dash_end) != Some(b'\n') {
                    return None;
                }
                self.null(dash_end);
            } else {
                self.node(column)?;
            }
            let at = self.at;
            if self.done() || (self.fresh && self.column() < column) {
                self.reader.close(at..at);
                return Some(());
            }
            if !self.fresh || self.column() != column {
                return None;
            }
            if !self.is_dash() {
                self.reader.close(at..at);
                return is_at_key.then_some(());
            }
        }
    }

    /// A flow collection, up to and with its closing bracket.
    fn flow(&mut self, parent: isize) -> Option<()> {
        self.may_open()?;
        let start = self.at;
        let is_mapping = self.peek() == Some(b'{');
        let closing = if is_mapping { b'}' } else { b']' };
        let content =
            if is_mapping { Content::Mapping(Mapping::default()) } else { Content::Sequence(Vec::new()) };
        self.reader.open(StructureStyle::Flow, 0, start..start + 1, content);
        self.at += 1;
        loop {
            self.flow_token(parent)?;
            if self.peek()? == closing {
                break;
            }
            if is_mapping {
                let key = self.scalar(true)?;
                self.at = key.end;
                let is_plain = key.style == ScalarStyle::Plain;
                let colon = self.skip_spaces();
                if self.byte(colon) != Some(b':') || key.end - key.start > LONGEST_KEY {
                    return None;
                }
                if is_plain && !self.is_blank(colon + 1) {
                    return None;
                }
                self.reader.scalar_key(key.value, key.style, key.start..key.end);
                self.at = colon + 1;
                self.flow_token(parent)?;
            }
            match self.peek()? {
                b'[' | b'{' => self.flow(parent)?,
                _ => {
                    let scalar = self.scalar(true)?;
                    self.at = scalar.end;
                    let range = scalar.start..scalar.end;
                    self.reader.finish_scalar(&scalar.value, scalar.style, range, 0, None);
                }
            }
            self.flow_token(parent)?;
            match self.peek()? {
                b',' => self.at += 1,
                byte if byte == closing => {}
                _ => return None,
            }
        }
        self.at += 1;
        self.reader.close(self.at - 1..self.at);
        Some(())
    }

    fn flow_token(&mut self, parent: isize) -> Option<()> {
        self.next_token()?;
        (!self.fresh || self.column() > parent).then_some(())
    }
}

#[cfg(test)]
mod tests;
