//! Lines to a tree of mappings, lists and raw texts.

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, SourceId, Span};

use super::lines::{self, Line};

/// How deep blocks may be nested.
const MAX_DEPTH: usize = 64;

/// A place in the text: bytes for spans, line and column (in characters, from 1) for people and JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WdlLocation {
    pub start: usize,
    pub end: usize,
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WdlNode {
    Scalar(Scalar),
    Mapping(Mapping),
    List(List),
}

/// A text as it was written, quotes and trailing spaces included.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    pub text: String,
    pub place: WdlLocation,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    pub entries: Vec<WdlEntry>,
    pub place: WdlLocation,
}

/// `key: value`, or a statement, which has no key.
#[derive(Debug, Clone, PartialEq)]
pub struct WdlEntry {
    pub key: Option<String>,
    pub key_place: WdlLocation,
    pub value: WdlNode,
}

#[derive(Debug, Clone, PartialEq)]
pub struct List {
    pub items: Vec<WdlNode>,
    pub place: WdlLocation,
}

impl WdlNode {
    #[must_use]
    pub fn place(&self) -> WdlLocation {
        match self {
            WdlNode::Scalar(scalar) => scalar.place,
            WdlNode::Mapping(mapping) => mapping.place,
            WdlNode::List(list) => list.place,
        }
    }

    /// The word for what it is.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            WdlNode::Scalar(_) => "a text",
            WdlNode::Mapping(_) => "a mapping",
            WdlNode::List(_) => "a list",
        }
    }

    /// Every text below it, in order.
    pub fn scalars(&self) -> Vec<&Scalar> {
        let mut scalars = Vec::new();
        let mut waiting = vec![self];
        while let Some(node) = waiting.pop() {
            match node {
                WdlNode::Scalar(scalar) => scalars.push(scalar),
                WdlNode::Mapping(mapping) => {
                    waiting.extend(mapping.entries.iter().rev().map(|entry| &entry.value));
                }
                WdlNode::List(list) => waiting.extend(list.items.iter().rev()),
            }
        }
        scalars
    }
}

type Read<T> = Result<T, Box<Diagnostic>>;

/// Reads a text. The first line that does not fit the lines before it ends the reading: what comes after
/// it has no certain meaning.
pub fn parse(source: SourceId, text: &str) -> Read<Mapping> {
    let lines = lines::read(source, text)?;
    let Some(first) = lines.first() else {
        let span = Span::new(source, 0, text.len());
        let diagnostic = Diagnostic::new(codes::WDL_EMPTY_DOCUMENT, span, "the document says nothing");
        return Err(Box::new(diagnostic));
    };
    let mut parser = Parser { source, lines: &lines, next: 0 };
    if first.indent > 0 {
        return Err(parser.fault(first, "the document does not begin in the first column"));
    }
    parser.mapping(0, 0)
}

struct Parser<'t> {
    source: SourceId,
    lines: &'t [Line<'t>],
    next: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t Line<'t>> {
        self.lines.get(self.next)
    }

    fn fault(&self, line: &Line<'_>, message: &str) -> Box<Diagnostic> {
        let end = line.start + line.content.trim_end().len();
        Box::new(Diagnostic::new(codes::WDL_PARSE_ERROR, Span::new(self.source, line.start, end), message))
    }

    fn place(line: &Line<'_>, offset: usize, length: usize) -> WdlLocation {
        let start = line.start + offset;
        let characters = line.content.get(..offset).unwrap_or_default().chars().count();
        let column = u32::try_from(line.indent + characters + 1).unwrap_or(u32::MAX);
        WdlLocation { start, end: start + length, line: line.number, column }
    }

    /// The block below `line`, when there is one that is indented deeper.
    fn block_below(&mut self, indent: usize, place: WdlLocation, depth: usize) -> Read<WdlNode> {
        let Some(line) = self.peek().filter(|line| line.indent > indent) else {
            return Ok(WdlNode::Mapping(Mapping { entries: Vec::new(), place }));
        };
        if depth >= MAX_DEPTH {
            return Err(self.fault(line, "blocks are nested too deeply"));
        }
        if is_item(line.content) {
            self.list(line.indent, depth + 1).map(WdlNode::List)
        } else {
            self.mapping(line.indent, depth + 1).map(WdlNode::Mapping)
        }
    }

    fn mapping(&mut self, indent: usize, depth: usize) -> Read<Mapping> {
        let mut entries: Vec<WdlEntry> = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent >= indent) {
            if line.indent > indent {
                return Err(self.fault(line, "unexpected indentation"));
            }
            if is_item(line.content) {
                return Err(self.fault(line, "a list item among the keys of a mapping"));
            }
            self.next += 1;
            entries.push(self.entry(line, depth)?);
        }
        let place =
            entries.first().map_or_else(|| Self::place(&self.lines[0], 0, 0), |entry| entry.key_place);
        Ok(Mapping { entries, place })
    }

    fn entry(&mut self, line: &Line<'t>, depth: usize) -> Read<WdlEntry> {
        let Some(colon) = separator(line.content) else {
            let length = line.content.trim_end().len();
            let place = Self::place(line, 0, length);
            let value = WdlNode::Scalar(Scalar { text: line.content.to_owned(), place });
            return Ok(WdlEntry { key: None, key_place: place, value });
        };
        let key = line.content.get(..colon).unwrap_or_default().trim();
        if key.is_empty() {
            return Err(self.fault(line, "the key before `:` is empty"));
        }
        let key_place = Self::place(line, 0, key.len());
        let after = line.content.get(colon + 1..).unwrap_or_default();
        let text = after.trim_start();
        let value = if text.is_empty() {
            self.block_below(line.indent, key_place, depth)?
        } else {
            let offset = line.content.len() - text.len();
            let place = Self::place(line, offset, text.trim_end().len());
            WdlNode::Scalar(Scalar { text: text.to_owned(), place })
        };
        Ok(WdlEntry { key: Some(key.to_owned()), key_place, value })
    }

    fn list(&mut self, indent: usize, depth: usize) -> Read<List> {
        let mut items = Vec::new();
        let mut place = None;
        while let Some(line) = self.peek().filter(|line| line.indent >= indent) {
            if line.indent > indent {
                return Err(self.fault(line, "unexpected indentation"));
            }
            if !is_item(line.content) {
                return Err(self.fault(line, "a `-` is missing before the list item"));
            }
            place.get_or_insert_with(|| Self::place(line, 0, 1));
            self.next += 1;
            items.push(self.item(line, depth)?);
        }
        let place = place.unwrap_or_else(|| Self::place(&self.lines[0], 0, 0));
        Ok(List { items, place })
    }

    fn item(&mut self, line: &Line<'t>, depth: usize) -> Read<WdlNode> {
        let text = line.content.get(1..).unwrap_or_default().trim_start();
        let offset = line.content.len() - text.len();
        if text.is_empty() {
            if self.peek().is_none_or(|below| below.indent <= line.indent) {
                return Err(self.fault(line, "the list item is empty"));
            }
            return self.block_below(line.indent, Self::place(line, 0, 1), depth);
        }
        let Some(key) = text.strip_suffix(':') else {
            let place = Self::place(line, offset, text.trim_end().len());
            return Ok(WdlNode::Scalar(Scalar { text: text.to_owned(), place }));
        };
        let key = key.trim_end();
        if key.is_empty() {
            return Err(self.fault(line, "the key before `:` is empty"));
        }
        let key_place = Self::place(line, offset, key.len());
        let value = self.block_below(line.indent, key_place, depth)?;
        let entry = WdlEntry { key: Some(key.to_owned()), key_place, value };
        Ok(WdlNode::Mapping(Mapping { entries: vec![entry], place: key_place }))
    }
}

fn is_item(content: &str) -> bool {
    content.starts_with("- ") || content.trim_end() == "-"
}

/// The first `:` outside quotes that no `=` follows. A backslash takes the character after it along.
pub(super) fn separator(content: &str) -> Option<usize> {
    let mut quote = None;
    let mut characters = content.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        match (character, quote) {
            ('\\', _) => {
                characters.next();
            }
            (_, Some(open)) if character == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(character),
            (':', None) if characters.peek().is_none_or(|(_, next)| *next != '=') => return Some(index),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_the_first_colon_outside_quotes() {
        for (content, wanted) in [
            ("a: b", Some(1)),
            ("a:b", Some(1)),
            ("x := 1", None),
            ("\"a:b\": c", Some(5)),
            ("'a\\':b': c", Some(7)),
            ("just text", None),
            ("if a == \"x:y\":", Some(13)),
            ("a\\: b: c", Some(5)),
        ] {
            assert_eq!(separator(content), wanted, "{content}");
        }
    }

    #[test]
    fn a_list_item_with_a_value_on_its_line_is_a_text() {
        let root = parse(SourceId(0), "a:\n  - k: v\n  - m:\n").expect("it reads");
        let Some(WdlNode::List(list)) = root.entries.first().map(|entry| &entry.value) else {
            panic!("a list")
        };
        assert!(matches!(&list.items[0], WdlNode::Scalar(scalar) if scalar.text == "k: v"));
        assert!(matches!(&list.items[1], WdlNode::Mapping(mapping) if mapping.entries.len() == 1));
    }

    #[test]
    fn a_list_stands_deeper_than_its_key() {
        assert!(parse(SourceId(0), "steps:\n- a\n").is_err());
    }
}
