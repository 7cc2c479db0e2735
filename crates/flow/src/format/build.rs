//! Events to tree.

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use super::tree::{Child, Container, Content, Node, Scalar, blank_before, line_start};
use crate::yaml::{MAX_DEPTH, block_header_start};

/// The directives ahead of a document, line by line.
pub(super) fn directives(text: &str) -> Vec<&str> {
    let lines = text.trim_start_matches('\u{feff}').lines();
    let head = lines.take_while(|line| line.trim().is_empty() || line.starts_with(['%', '#']));
    head.filter(|line| line.starts_with('%'))
        .map(|line| line.split(" #").next().unwrap_or(line).trim_end())
        .collect()
}

/// The root of a text that was read without errors before.
pub(super) fn build(text: &str) -> Option<Node> {
    let options = granit_parser::options! {
        emit_anchor_events: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        max_buffered_comment_events: usize::MAX,
    };
    let mut builder = Builder { text, frames: Vec::new(), root: None, properties: None };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, place) = event.ok()?;
        let range = place.byte_range().unwrap_or_default();
        builder.event(event, range)?;
    }
    builder.flush();
    builder.root
}

struct Builder<'text> {
    text: &'text str,
    frames: Vec<Frame>,
    root: Option<Node>,
    /// A finished scalar or a frame waits here for the anchor event that may follow it.
    properties: Option<Node>,
}

struct Frame {
    node: Node,
    /// A key that waits for its value.
    key: Option<Node>,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, range: std::ops::Range<usize>) -> Option<()> {
        match event {
            Event::Anchor(_, name) => {
                let node =
                    self.properties.as_mut().or_else(|| self.frames.last_mut().map(|frame| &mut frame.node));
                if let Some(node) = node {
                    let tag = std::mem::take(&mut node.properties);
                    node.properties = join(&format!("&{name}"), &tag);
                    node.start = node.start.min(range.start);
                }
                return Some(());
            }
            Event::Comment(..) => return Some(()),
            _ => self.flush(),
        }
        match event {
            Event::Scalar(value, style, _, tag) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let start = if is_block { block_header_start(self.text, range.start)? } else { range.start };
                let scalar = Scalar { style, range: range.clone(), decoded: value.into_owned() };
                let properties = tag.map(|tag| tag.original().clone()).unwrap_or_default();
                let end = if is_block { content_end(self.text, &range) } else { range.end };
                self.properties = Some(Node { start, end, properties, content: Content::Scalar(scalar) });
            }
            Event::Alias(_) => {
                let node = Node {
                    start: range.start,
                    end: range.end,
                    properties: String::new(),
                    content: Content::Alias,
                };
                self.finish(node);
            }
            Event::SequenceStart(style, _, tag) => {
                self.open(false, style, range, tag.map(|tag| tag.original().clone()));
            }
            Event::MappingStart(style, _, tag) => {
                self.open(true, style, range, tag.map(|tag| tag.original().clone()));
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let frame = self.frames.pop()?;
                let mut node = frame.node;
                if let Some(container) = node.container_mut() {
                    let last = container.children.last().map_or(range.start, Child::end);
                    let end = if container.is_flow { range.end } else { last };
                    node.end = node.end.max(end);
                }
                self.finish(node);
            }
            _ => {}
        }
        Some(())
    }

    fn open(
        &mut self,
        is_mapping: bool,
        style: StructureStyle,
        range: std::ops::Range<usize>,
        tag: Option<String>,
    ) {
        let is_flow = style == StructureStyle::Flow;
        let column = range.start - line_start(self.text, range.start);
        let container = Container { is_mapping, is_flow, children: Vec::new(), closing: Vec::new(), column };
        let node = Node {
            start: range.start,
            end: range.start,
            properties: tag.unwrap_or_default(),
            content: Content::Container(container),
        };
        self.frames.push(Frame { node, key: None });
    }

    fn flush(&mut self) {
        if let Some(node) = self.properties.take() {
            self.finish(node);
        }
    }

    fn finish(&mut self, node: Node) {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        let Some(container) = frame.node.container_mut() else { return };
        if container.is_mapping && frame.key.is_none() {
            frame.key = Some(node);
            return;
        }
        let mut child =
            Child { key: frame.key.take(), value: node, leading: Vec::new(), trailing: None, blank: false };
        let swallowed = container.children.last().is_some_and(|last| keeps_blank(&last.value));
        child.blank = !swallowed && blank_before(self.text, child.start());
        container.children.push(child);
    }
}

/// Whether the blank lines behind a value are part of it.
fn keeps_blank(node: &Node) -> bool {
    match &node.content {
        Content::Scalar(Scalar { style: ScalarStyle::Literal | ScalarStyle::Folded, decoded, .. }) => {
            decoded.ends_with("\n\n")
        }
        _ => false,
    }
}

fn join(first: &str, second: &str) -> String {
    if second.is_empty() { first.to_owned() } else { format!("{first} {second}") }
}

/// The end of the last line with content of a block scalar.
fn content_end(text: &str, range: &std::ops::Range<usize>) -> usize {
    let content = text.get(range.clone()).unwrap_or_default();
    range.start + content.trim_end_matches(['\n', '\r', ' ', '\t']).len()
}
