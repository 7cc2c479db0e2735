//! The text as it is going to be printed: nodes with their styles, and comments at their nodes.

use granit_parser::ScalarStyle;

/// A value as it was written.
#[derive(Debug)]
pub(super) struct Node {
    /// Where it begins, properties and the header of a block scalar included.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Anchor and tag, as they are written.
    pub(super) properties: String,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar(Scalar),
    /// `*name`, by its place.
    Alias,
    Container(Container),
}

#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) style: ScalarStyle,
    /// The bytes of a block scalar begin at its first content character.
    pub(super) range: std::ops::Range<usize>,
    pub(super) decoded: String,
}

#[derive(Debug)]
pub(super) struct Container {
    pub(super) is_mapping: bool,
    /// Written in brackets.
    pub(super) is_flow: bool,
    pub(super) children: Vec<Child>,
    /// Comments behind the last child.
    pub(super) closing: Vec<Remark>,
    /// The column of its children, or of their dashes.
    pub(super) column: usize,
}

/// An item of a list, or a key with its value.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) key: Option<Node>,
    pub(super) value: Node,
    /// Comments on lines of their own ahead of it.
    pub(super) leading: Vec<Remark>,
    /// The comment behind it on its first line.
    pub(super) trailing: Option<String>,
    /// Whether a blank line precedes it.
    pub(super) blank: bool,
}

/// A comment on a line of its own.
#[derive(Debug, Clone)]
pub(super) struct Remark {
    pub(super) text: String,
    /// Whether a blank line precedes it.
    pub(super) blank: bool,
}

impl Node {
    pub(super) fn container(&self) -> Option<&Container> {
        if let Content::Container(container) = &self.content { Some(container) } else { None }
    }

    pub(super) fn container_mut(&mut self) -> Option<&mut Container> {
        if let Content::Container(container) = &mut self.content { Some(container) } else { None }
    }
}

impl Child {
    pub(super) fn start(&self) -> usize {
        self.key.as_ref().map_or(self.value.start, |key| key.start)
    }

    pub(super) fn end(&self) -> usize {
        self.key.as_ref().map_or(self.value.end, |key| self.value.end.max(key.end))
    }

    /// The decoded key, when it is a plain word.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.key.as_ref()?.content {
            Content::Scalar(scalar) => Some(&scalar.decoded),
            _ => None,
        }
    }

    /// Puts a comment behind the child; one that was there already moves ahead of it.
    pub(super) fn trail(&mut self, text: String) {
        if let Some(before) = self.trailing.replace(text) {
            self.leading.push(Remark { text: before, blank: false });
        }
    }
}

/// The beginning of the line that holds an offset.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text.get(..offset).map_or(0, |before| before.rfind(['\n', '\r']).map_or(0, |newline| newline + 1))
}

/// Whether what begins at an offset is the first thing on its line, and the line ahead of it is blank.
pub(super) fn blank_before(text: &str, offset: usize) -> bool {
    let start = line_start(text, offset);
    let ahead = text.get(start..offset).unwrap_or_default();
    if !ahead.trim_matches([' ', '\t', '-']).is_empty() {
        return false;
    }
    let before = text.get(..start).unwrap_or_default();
    let before = before.strip_suffix('\n').unwrap_or(before);
    let before = before.strip_suffix('\r').unwrap_or(before);
    let line = before.get(line_start(before, before.len())..).unwrap_or_default();
    start > 0 && !before.is_empty() && line.trim().is_empty()
}
