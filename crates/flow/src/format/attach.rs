//! Comments to the nodes that they are about.
//!
//! A comment behind something on its line is about that thing. A comment on a line of its own is about what
//! comes next, unless it is indented like what came before.

use std::ops::Range;

use super::tree::{Child, Container, Node, Remark, blank_before, line_start};

pub(super) fn attach(text: &str, root: &mut Node, comments: &[Range<usize>]) {
    let Some(container) = root.container_mut() else { return };
    for range in comments {
        let start = line_start(text, range.start);
        let ahead = text.get(start..range.start).unwrap_or_default();
        let comment = Comment {
            start: range.start,
            column: range.start - start,
            line: start,
            alone: ahead.trim_matches([' ', '\t', '\u{feff}']).is_empty(),
            text: text.get(range.clone()).unwrap_or_default().trim_end().to_owned(),
            blank: blank_before(text, range.start),
        };
        if let Some(homeless) = place(text, container, comment) {
            container.closing.push(homeless.remark());
        }
    }
    settle(container);
}

/// Moves comments between a bare dash and what is in its item ahead of the dash, which is where they are found
/// when the printed text is read again.
fn settle(container: &mut Container) {
    for child in &mut container.children {
        let is_bare = child.key.is_none() && child.value.properties.is_empty();
        let Some(inner) = child.value.container_mut() else { continue };
        settle(inner);
        if is_bare && let Some(first) = inner.children.first_mut() {
            child.leading.append(&mut first.leading);
        }
    }
}

struct Comment {
    start: usize,
    column: usize,
    /// Where its line begins.
    line: usize,
    /// Whether nothing precedes it on its line.
    alone: bool,
    text: String,
    blank: bool,
}

impl Comment {
    fn remark(self) -> Remark {
        Remark { text: self.text, blank: self.blank && self.alone }
    }
}

/// Puts a comment into a container; gives it back when the container is empty.
fn place(text: &str, container: &mut Container, comment: Comment) -> Option<Comment> {
    if container.children.is_empty() {
        return Some(comment);
    }
    let column = container.column;
    let is_flow = container.is_flow;
    let next = container.children.iter().position(|child| child.start() > comment.start);
    let count = next.unwrap_or(container.children.len());
    let Some(before) = count.checked_sub(1).and_then(|index| container.children.get_mut(index)) else {
        lead(container, 0, comment);
        return None;
    };
    if before.end() > comment.start {
        inside(text, before, comment);
        return None;
    }
    let same_line = line_start(text, before.end()) == comment.line;
    let block = before.value.container_mut().filter(|inner| !inner.is_flow && !inner.children.is_empty());
    if comment.alone {
        if let Some(inner) = block.filter(|_| comment.column > column && !is_flow) {
            place(text, inner, comment);
        } else {
            lead(container, count, comment);
        }
        return None;
    }
    if !same_line {
        // Behind the dash of the next item, or behind a closing bracket.
        lead(container, count, comment);
        return None;
    }
    match block {
        Some(inner) => {
            place(text, inner, comment);
        }
        None => before.trail(comment.text),
    }
    None
}

/// A comment between a child's beginning and its end.
fn inside(text: &str, child: &mut Child, comment: Comment) {
    let content = match child.value.container() {
        Some(inner) => inner.children.first().map_or(child.value.end, Child::start),
        None => child.value.end,
    };
    let is_flow = child.value.container().is_some_and(|inner| inner.is_flow);
    if comment.start < content && !comment.alone && !(is_flow && comment.start > child.value.start) {
        child.trail(comment.text);
        return;
    }
    let homeless = match child.value.container_mut() {
        Some(inner) => place(text, inner, comment),
        None => Some(comment),
    };
    if let Some(comment) = homeless {
        child.leading.push(comment.remark());
    }
}

/// Ahead of a child, or behind the last one.
fn lead(container: &mut Container, index: usize, comment: Comment) {
    match container.children.get_mut(index) {
        Some(child) => child.leading.push(comment.remark()),
        None => container.closing.push(comment.remark()),
    }
}
