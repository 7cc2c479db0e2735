//! Text to tree.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle, Tag};
use stave_diag::codes::yaml as codes;
use stave_diag::{Diagnostic, Embedded, SourceId, Span};

use super::pieces::pieces;
use super::scalar::{self, Plain};
use super::{Entry, Tree, TreeValue};
use crate::model::{Spanned, Text};

/// A text past this many bytes is refused.
pub const MAX_BYTES: usize = 8 << 20;
/// Containers may nest this deep.
pub const MAX_DEPTH: usize = 96;
/// A tree may have this many nodes once aliases are expanded; long strings count as several.
pub const MAX_NODES: usize = 250_000;

/// How many bytes of a string weigh as much as one node.
const BYTES_PER_NODE: usize = 64;

/// What a YAML text holds.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Absent when the text is empty or could not be read to its end.
    pub root: Option<Tree>,
    pub comments: Vec<Comment>,
    /// The aliases in the text; an edit inside one of them would reach further than it looks.
    pub aliases: Vec<Span>,
    pub diagnostics: Vec<Diagnostic>,
}

/// A comment from its `#` to the end of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment {
    pub span: Span,
}

/// Reads one YAML document. A syntax error ends the reading; every other fault is reported and the
/// reading goes on.
#[must_use]
pub fn read(source: SourceId, text: &str) -> Document {
    let mut reader = Reader {
        source,
        text,
        document: Document::default(),
        frames: Vec::new(),
        anchors: HashMap::new(),
        weight: 0,
        root: None,
    };
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes, more than the {MAX_BYTES} that are read", text.len());
        reader.report(Diagnostic::new(codes::YAML_TOO_LARGE, reader.span(0..0), message));
        return reader.document;
    }
    reader.run();
    reader.document
}

struct Reader<'text> {
    source: SourceId,
    text: &'text str,
    document: Document,
    /// The containers that are open, outermost first.
    frames: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    weight: usize,
    root: Option<Tree>,
}

struct Frame {
    start: usize,
    style: StructureStyle,
    anchor: usize,
    content: Content,
    /// How deep the containers inside reach.
    height: usize,
    weight: usize,
}

enum Content {
    Sequence(Vec<Tree>),
    Mapping(Mapping),
}

#[derive(Default)]
struct Mapping {
    entries: Vec<Entry>,
    keys: HashMap<String, Span>,
    pending: Option<Key>,
    /// Values of `<<` with the number of entries ahead of them.
    merges: Vec<(usize, Tree)>,
}

enum Key {
    Name(Spanned<String>),
    Merge,
    /// Reported already; its value is read and dropped.
    Broken,
}

struct Anchored {
    tree: Tree,
    height: usize,
    weight: usize,
    /// Whether a plain scalar, whose source text can be a key.
    plain: bool,
}

/// A finished node on its way into its container.
struct Finished {
    tree: Tree,
    height: usize,
    weight: usize,
    plain: bool,
}

impl Reader<'_> {
    fn run(&mut self) {
        let options = granit_parser::options! {
            emit_unresolved_aliases: true,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
            max_buffered_comment_events: usize::MAX,
        };
        let mut documents = 0;
        let text = self.text;
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, place) = match event {
                Ok(event) => event,
                Err(error) => return self.syntax_error(&error),
            };
            let range = place.byte_range().unwrap_or_default();
            match event {
                Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | Event::Anchor(..) => {}
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        let message = "a flow file holds one document, and a second one begins here";
                        let diagnostic = Diagnostic::new(codes::SEVERAL_DOCUMENTS, self.span(range), message)
                            .help("move it to a file of its own, or remove the `---`");
                        return self.report(diagnostic);
                    }
                }
                Event::Comment(..) => {
                    let span = self.span(range);
                    self.document.comments.push(Comment { span });
                }
                Event::Scalar(value, style, anchor, tag) => {
                    let (tree, plain) = self.scalar(&value, style, range, tag.as_deref());
                    let weight = 1 + value.len() / BYTES_PER_NODE;
                    self.weight += weight;
                    self.finish(Finished { tree, height: 0, weight, plain }, anchor);
                }
                Event::SequenceStart(style, anchor, tag) => {
                    self.container_tag(tag.as_deref(), "seq", &range);
                    self.open(style, anchor, range, Content::Sequence(Vec::new()));
                }
                Event::MappingStart(style, anchor, tag) => {
                    self.container_tag(tag.as_deref(), "map", &range);
                    self.open(style, anchor, range, Content::Mapping(Mapping::default()));
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(range),
                Event::Alias(anchor) => self.alias(anchor, range),
                Event::UnresolvedAlias(name) => {
                    let message = format!("no anchor `&{name}` stands ahead of this alias");
                    let span = self.span(range);
                    self.report(Diagnostic::new(codes::UNKNOWN_ALIAS, span, message));
                    let tree = Tree { span, value: TreeValue::Null };
                    self.finish(Finished { tree, height: 0, weight: 1, plain: false }, 0);
                }
                _ => {}
            }
            if self.weight > MAX_NODES || self.frames.len() > MAX_DEPTH {
                let end = self.text.len().min(place.end.byte_offset().unwrap_or(0));
                let span = self.span(end..end);
                if self.frames.len() > MAX_DEPTH {
                    return self.report(too_deep(span));
                }
                let message =
                    format!("the document has more than {MAX_NODES} nodes with its aliases expanded");
                return self.report(Diagnostic::new(codes::YAML_TOO_LARGE, span, message));
            }
        }
        self.document.root = self.root.take();
    }

    fn span(&self, range: Range<usize>) -> Span {
        let floor = |offset: usize| {
            let mut offset = offset.min(self.text.len());
            while !self.text.is_char_boundary(offset) {
                offset -= 1;
            }
            offset
        };
        Span::new(self.source, floor(range.start), floor(range.end))
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.document.diagnostics.push(diagnostic);
    }

    fn syntax_error(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(self.text.len());
        let next = self.text.get(at..).and_then(|rest| rest.chars().next());
        let width = next.filter(|next| !matches!(next, '\n' | '\r')).map_or(0, char::len_utf8);
        let span = self.span(at..at + width);
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            return self.report(too_deep(span));
        }
        let message = format!("the text is not YAML: {}", error.info());
        let mut diagnostic = Diagnostic::new(codes::YAML_SYNTAX, span, message);
        let open = self.frames.iter().rev().find(|frame| frame.style == StructureStyle::Flow);
        if let Some(open) = open.filter(|open| open.start != at) {
            let bracket = if matches!(open.content, Content::Sequence(_)) { "[" } else { "{" };
            let span = self.span(open.start..open.start + 1);
            diagnostic = diagnostic.label(span, format!("this `{bracket}` is still open"));
        }
        let help = match error.kind() {
            ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabNotAllowed
            | ErrorKind::TabAtBlockScalarStart
            | ErrorKind::TabInPlainScalar => Some("indent with spaces; YAML allows no tabs there"),
            ErrorKind::MismatchedFlowCollectionEnd { .. } | ErrorKind::UnclosedFlowCollection { .. } => {
                Some("close every `[` with `]` and every `{` with `}`")
            }
            ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
                Some("close the quoted text with the quote it began with")
            }
            ErrorKind::InvalidColonPlacement | ErrorKind::MappingValueNotAllowed => {
                Some("put text that holds `: ` in quotes, and check the brackets ahead of it")
            }
            _ => None,
        };
        self.report(match help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }

    fn scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        range: Range<usize>,
        tag: Option<&Tag>,
    ) -> (Tree, bool) {
        let whole = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.block_range(&range),
            _ => range.clone(),
        };
        let span = self.span(whole);
        let plain = style == ScalarStyle::Plain;
        let resolved = match tag {
            None if plain => scalar::resolve(value),
            None => Plain::String,
            Some(tag) => self.tagged(tag, value, span),
        };
        let value = match resolved {
            Plain::Null => TreeValue::Null,
            Plain::Bool(value) => TreeValue::Bool(value),
            Plain::Number(number) => TreeValue::Number(number),
            Plain::NotJson => {
                let message = format!("`{value}` is a number that JSON can not hold");
                let help = format!("write a finite number, or quote it: \"{value}\"");
                self.report(Diagnostic::new(codes::UNREPRESENTABLE_VALUE, span, message).help(help));
                TreeValue::Null
            }
            Plain::String => {
                let pieces = pieces(self.text, range, style, value);
                let embedded = Embedded::new(value.to_owned(), self.source, pieces);
                TreeValue::String(Text { span, embedded })
            }
        };
        (Tree { span, value }, plain)
    }

    fn tagged(&mut self, tag: &Tag, value: &str, span: Span) -> Plain {
        let resolved = match tag.core_suffix() {
            Some("str") => Some(Plain::String),
            Some("null") => matches!(scalar::resolve(value), Plain::Null).then_some(Plain::Null),
            Some("bool") => Some(scalar::resolve(value)).filter(|plain| matches!(plain, Plain::Bool(_))),
            Some("int") => scalar::integer(value).map(Plain::Number),
            Some("float") => scalar::float(value),
            _ if tag.original() == "!" => Some(Plain::String),
            _ => {
                self.unknown_tag(tag, span);
                return Plain::String;
            }
        };
        resolved.unwrap_or_else(|| {
            let message = format!("`{value}` is not what its tag `{}` says", tag.original());
            self.report(Diagnostic::new(codes::UNREPRESENTABLE_VALUE, span, message));
            Plain::String
        })
    }

    fn container_tag(&mut self, tag: Option<&Tag>, expected: &str, range: &Range<usize>) {
        if let Some(tag) = tag
            && tag.core_suffix() != Some(expected)
        {
            let span = self.span(range.clone());
            self.unknown_tag(tag, span);
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, span: Span) {
        let message = format!("the tag `{}` has no meaning in a flow", tag.original());
        self.report(Diagnostic::new(codes::UNKNOWN_TAG, span, message).help("remove the tag"));
    }

    /// The range of a block scalar from its `|` or `>` to the end of its last line with content.
    fn block_range(&self, content: &Range<usize>) -> Range<usize> {
        let end = self
            .text
            .get(content.clone())
            .map_or(content.end, |text| content.start + text.trim_end_matches(['\n', '\r', ' ', '\t']).len());
        let mut line_end = content.start;
        loop {
            let before = self.text.get(..line_end).unwrap_or_default();
            let line_start = before.rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
            let line = before.get(line_start..).unwrap_or_default();
            if let Some(header) = block_header(line) {
                return line_start + header..end.max(line_start + header);
            }
            if line_start == 0 {
                return content.start..end.max(content.start);
            }
            line_end = line_start - 1;
        }
    }

    fn open(&mut self, style: StructureStyle, anchor: usize, range: Range<usize>, content: Content) {
        self.weight += 1;
        self.frames.push(Frame { start: range.start, style, anchor, content, height: 0, weight: 1 });
    }

    fn close(&mut self, range: Range<usize>) {
        let Some(frame) = self.frames.pop() else { return };
        let Frame { start, style, anchor, content, height, weight } = frame;
        let mut last = start;
        let value = match content {
            Content::Sequence(items) => {
                last = items.last().map_or(start, |item| item.span.end as usize);
                TreeValue::Sequence(items)
            }
            Content::Mapping(mapping) => {
                let end = mapping.entries.last().map(|entry| entry.value.span.end.max(entry.key.span.end));
                let merged = mapping.merges.last().map(|(_, tree)| tree.span.end);
                last = end.max(merged).map_or(last, |end| end as usize);
                TreeValue::Mapping(self.merge(mapping))
            }
        };
        let end = if style == StructureStyle::Flow { range.end } else { last.max(start) };
        let tree = Tree { span: self.span(start..end), value };
        self.finish(Finished { tree, height: height + 1, weight, plain: false }, anchor);
    }

    fn alias(&mut self, anchor: usize, range: Range<usize>) {
        let span = self.span(range);
        self.document.aliases.push(span);
        let Some(anchored) = self.anchors.get(&anchor) else {
            let message = "the alias stands inside the value that it names";
            self.report(Diagnostic::new(codes::UNKNOWN_ALIAS, span, message));
            let tree = Tree { span, value: TreeValue::Null };
            return self.finish(Finished { tree, height: 0, weight: 1, plain: false }, 0);
        };
        let Anchored { height, weight, plain, .. } = *anchored;
        // The weight is taken before the copy, so that a bomb is never built.
        if self.weight + weight > MAX_NODES || self.frames.len() + height > MAX_DEPTH {
            self.weight = MAX_NODES + 1;
            return;
        }
        let tree = Tree { span, value: anchored.tree.value.clone() };
        self.weight += weight;
        self.finish(Finished { tree, height, weight, plain }, 0);
    }

    /// Puts a finished node where it belongs.
    fn finish(&mut self, finished: Finished, anchor: usize) {
        let Finished { tree, height, weight, plain } = finished;
        if anchor > 0 {
            self.anchors.insert(anchor, Anchored { tree: tree.clone(), height, weight, plain });
            self.weight += weight;
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(tree);
            return;
        };
        frame.height = frame.height.max(height);
        frame.weight += weight;
        match &mut frame.content {
            Content::Sequence(items) => items.push(tree),
            Content::Mapping(mapping) => match mapping.pending.take() {
                None => {
                    let key = self.key(tree, plain);
                    if let Some(Frame { content: Content::Mapping(mapping), .. }) = self.frames.last_mut() {
                        mapping.pending = Some(key);
                    }
                }
                Some(Key::Name(key)) => mapping.entries.push(Entry { key, value: tree }),
                Some(Key::Merge) => mapping.merges.push((mapping.entries.len(), tree)),
                Some(Key::Broken) => {}
            },
        }
    }

    fn key(&mut self, tree: Tree, plain: bool) -> Key {
        let span = tree.span;
        let name = match tree.value {
            TreeValue::String(text) => text.as_str().to_owned(),
            TreeValue::Sequence(_) | TreeValue::Mapping(_) => {
                let message = "a key must be a word, not a list or a mapping";
                self.report(Diagnostic::new(codes::COMPLEX_KEY, span, message));
                return Key::Broken;
            }
            // A number or a boolean is a key by the text it was written with.
            _ => self.text.get(span.range()).unwrap_or_default().to_owned(),
        };
        if plain && name == "<<" {
            return Key::Merge;
        }
        let Some(Frame { content: Content::Mapping(mapping), .. }) = self.frames.last_mut() else {
            return Key::Broken;
        };
        if let Some(first) = mapping.keys.get(&name).copied() {
            let diagnostic =
                Diagnostic::new(codes::DUPLICATE_KEY, span, format!("the key `{name}` stands here twice"))
                    .label(first, "it stands here first")
                    .help(format!("remove one of the two `{name}` or rename it"));
            self.report(diagnostic);
            return Key::Broken;
        }
        mapping.keys.insert(name.clone(), span);
        Key::Name(Spanned::new(name, span))
    }

    /// The entries of a mapping with its merge keys expanded: what the mapping says itself wins, then
    /// what is merged first.
    fn merge(&mut self, mapping: Mapping) -> Vec<Entry> {
        let Mapping { entries, keys, merges, .. } = mapping;
        if merges.is_empty() {
            return entries;
        }
        let mut taken: HashSet<String> = keys.into_keys().collect();
        let mut out = Vec::with_capacity(entries.len());
        let mut merges = merges.into_iter().peekable();
        for (index, entry) in entries.into_iter().map(Some).chain([None]).enumerate() {
            while let Some((_, tree)) = merges.next_if(|(position, _)| *position == index) {
                let sources = match tree.value {
                    TreeValue::Sequence(items) => items,
                    _ => vec![tree],
                };
                for source in sources {
                    let TreeValue::Mapping(merged) = source.value else {
                        let message = format!("`<<` merges mappings, and this is {}", source.kind());
                        self.report(Diagnostic::new(codes::UNREPRESENTABLE_VALUE, source.span, message));
                        continue;
                    };
                    out.extend(merged.into_iter().filter(|entry| taken.insert(entry.key.value.clone())));
                }
            }
            out.extend(entry);
        }
        out
    }
}

fn too_deep(span: Span) -> Diagnostic {
    let message = format!("containers nest deeper than {MAX_DEPTH} levels");
    Diagnostic::new(codes::YAML_TOO_LARGE, span, message)
}

/// Where in a line the header of a block scalar begins, when the line ends in one.
fn block_header(line: &str) -> Option<usize> {
    line.match_indices(['|', '>']).map(|(index, _)| index).find(|index| {
        let before = line.get(..*index).unwrap_or_default();
        let after = line.get(index + 1..).unwrap_or_default();
        let after = after.trim_start_matches(|indicator: char| {
            matches!(indicator, '+' | '-') || indicator.is_ascii_digit()
        });
        let comment = after.trim_start_matches([' ', '\t']);
        (before.is_empty() || before.ends_with([' ', '\t']))
            && (comment.is_empty() || (comment.starts_with('#') && comment.len() < after.len()))
    })
}
