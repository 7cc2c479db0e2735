//! Text to tree.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle, Tag};
use stave_diag::codes::yaml as codes;
use stave_diag::{Diagnostic, SourceId, Span};

use crate::faults::too_deep;
use crate::mapping::{Key, Mapping};
use crate::{Tree, TreeValue, YamlEntry, fast_path};

/// A text past this many bytes is refused.
pub const MAX_BYTES: usize = 4 << 20;
/// Containers may nest this deep.
pub const MAX_DEPTH: usize = 96;
/// A tree may have this many nodes once aliases are expanded; long strings count as several.
pub const MAX_NODES: usize = 500_000;

/// How many bytes of a string weigh as much as one node.
const BYTES_PER_NODE: usize = 64;

/// What a YAML text holds.
#[derive(Debug, Clone, Default)]
pub struct YamlDocument {
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
/// reading continues.
#[must_use]
pub fn read(source: SourceId, text: &str) -> YamlDocument {
    read_up_to(MAX_BYTES, source, text)
}

/// The same for texts that may be as long as this.
#[must_use]
pub fn read_up_to(max_bytes: usize, source: SourceId, text: &str) -> YamlDocument {
    if text.len() > max_bytes {
        let mut reader = Reader::new(source, text);
        let message = format!("the file has {} bytes, more than the {max_bytes} that are read", text.len());
        reader.report(Diagnostic::new(codes::YAML_TOO_LARGE, reader.span(0..0), message));
        return reader.document;
    }
    fast_path::read(source, text).unwrap_or_else(|| read_fully(source, text))
}

/// Reads one YAML document with the full parser.
pub(crate) fn read_fully(source: SourceId, text: &str) -> YamlDocument {
    let mut reader = Reader::new(source, text);
    reader.run();
    reader.document
}

pub(crate) struct Reader<'text> {
    pub(crate) source: SourceId,
    pub(crate) text: &'text str,
    document: YamlDocument,
    /// The containers that are open, outermost first.
    pub(crate) frames: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    pub(crate) weight: usize,
    root: Option<Tree>,
}

pub(crate) struct Frame {
    pub(crate) start: usize,
    pub(crate) style: StructureStyle,
    anchor: usize,
    pub(crate) content: Content,
    /// How deep the containers inside reach.
    height: usize,
    weight: usize,
}

pub(crate) enum Content {
    Sequence(Vec<Tree>),
    Mapping(Mapping),
}

struct Anchored {
    tree: Tree,
    height: usize,
    weight: usize,
    /// Whether a plain scalar, whose source text can be a key.
    plain: bool,
}

/// A finished node on its way into its container.
pub(crate) struct Finished {
    pub(crate) tree: Tree,
    pub(crate) height: usize,
    pub(crate) weight: usize,
    pub(crate) plain: bool,
}

impl<'text> Reader<'text> {
    pub(crate) fn new(source: SourceId, text: &'text str) -> Self {
        Reader {
            source,
            text,
            document: YamlDocument::default(),
            frames: Vec::new(),
            anchors: HashMap::new(),
            weight: 0,
            root: None,
        }
    }

    pub(crate) fn into_document(self) -> YamlDocument {
        YamlDocument { root: self.root, ..self.document }
    }

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
                        let message = "a file holds one document, and a second one begins here";
                        let diagnostic = Diagnostic::new(codes::SEVERAL_DOCUMENTS, self.span(range), message)
                            .help("move it to a file of its own, or remove the `---`");
                        return self.report(diagnostic);
                    }
                }
                Event::Comment(..) => {
                    let span = self.span(range);
                    self.comment(Comment { span });
                }
                // Most scalars are keys, and a key needs no more than its name.
                Event::Scalar(value, style, 0, None) if self.expects_key() && !is_block(style) => {
                    self.scalar_key(value, style, range);
                }
                Event::Scalar(value, style, anchor, tag) => {
                    self.finish_scalar(&value, style, range, anchor, tag.as_deref());
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
                    let message = format!("no anchor `&{name}` precedes this alias");
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

    /// Whether what comes next is a key.
    fn expects_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { content: Content::Mapping(mapping), .. }) if mapping.pending.is_none())
    }

    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        Span::new(
            self.source,
            self.text.floor_char_boundary(range.start),
            self.text.floor_char_boundary(range.end),
        )
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.document.diagnostics.push(diagnostic);
    }

    pub(crate) fn comment(&mut self, comment: Comment) {
        self.document.comments.push(comment);
    }

    /// A scalar in the place of a key of the innermost mapping.
    pub(crate) fn scalar_key(&mut self, value: Cow<'_, str>, style: ScalarStyle, range: Range<usize>) {
        let weight = 1 + value.len() / BYTES_PER_NODE;
        self.weight += weight;
        let span = self.span(range);
        let key = self.named_key(value.into_owned(), span, style == ScalarStyle::Plain);
        if let Some(frame) = self.frames.last_mut() {
            frame.weight += weight;
            if let Content::Mapping(mapping) = &mut frame.content {
                mapping.pending = Some(key);
            }
        }
    }

    /// A scalar that is a value, or a key with a property of its own.
    pub(crate) fn finish_scalar(
        &mut self,
        value: &str,
        style: ScalarStyle,
        range: Range<usize>,
        anchor: usize,
        tag: Option<&Tag>,
    ) {
        let (tree, plain) = self.scalar(value, style, range, tag);
        let weight = 1 + value.len() / BYTES_PER_NODE;
        self.weight += weight;
        self.finish(Finished { tree, height: 0, weight, plain }, anchor);
    }

    pub(crate) fn open(
        &mut self,
        style: StructureStyle,
        anchor: usize,
        range: Range<usize>,
        content: Content,
    ) {
        self.weight += 1;
        self.frames.push(Frame { start: range.start, style, anchor, content, height: 0, weight: 1 });
    }

    pub(crate) fn close(&mut self, range: Range<usize>) {
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
            let message = "the alias is inside the value that it names";
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
    pub(crate) fn finish(&mut self, finished: Finished, anchor: usize) {
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
                Some(Key::Name(key)) => mapping.entries.push(YamlEntry { key, value: tree }),
                Some(Key::Merge) => mapping.merges.push((mapping.entries.len(), tree)),
                Some(Key::Broken) => {}
            },
        }
    }
}

fn is_block(style: ScalarStyle) -> bool {
    matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
}
