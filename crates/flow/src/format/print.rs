//! Tree to text.

use super::scalar;
use super::tree::{Child, Container, Content, Node, Remark};

/// The longest line that a collection in brackets may make.
const WIDTH: usize = 100;
const STEP: usize = 2;

pub(super) fn print(text: &str, root: &Node) -> String {
    let mut printer = Printer { text, out: String::new(), inline: false, keeps_blank: false };
    match root.container() {
        Some(container) => {
            let one_line = if container.is_flow { printer.one_line(root, 0) } else { None };
            match one_line {
                Some(line) => {
                    container.closing.iter().for_each(|remark| printer.line(0, &remark.text));
                    printer.line(0, &line);
                }
                None => printer.children(container, 0, Place::Document),
            }
        }
        None => printer.out.push_str(text),
    }
    printer.out.push('\n');
    printer.out
}

/// Which blank lines a container has by rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The whole document, whose keys are sections.
    Document,
    /// The nodes of the flow.
    NodeMap,
    Elsewhere,
}

struct Printer<'text> {
    text: &'text str,
    out: String,
    /// Whether the next item belongs on the line that was begun.
    inline: bool,
    /// Whether a blank line would become part of the block scalar ahead of it.
    keeps_blank: bool,
}

impl Printer<'_> {
    /// Begins a line, unless one was begun for what comes.
    fn begin(&mut self, indent: usize) {
        if std::mem::take(&mut self.inline) {
            return;
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.keeps_blank = false;
    }

    fn line(&mut self, indent: usize, text: &str) {
        self.begin(indent);
        self.out.push_str(text);
    }

    fn blank(&mut self) {
        if !self.keeps_blank && !self.inline && !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn remarks(&mut self, remarks: &[Remark], indent: usize, mut first: bool) {
        for remark in remarks {
            if remark.blank && !first {
                self.blank();
            }
            first = false;
            self.line(indent, &remark.text);
        }
    }

    /// The children of a container in block style.
    fn children(&mut self, container: &Container, indent: usize, place: Place) {
        let sections = match place {
            Place::Document => true,
            Place::NodeMap => container.children.iter().any(|child| self.nested(child, indent).is_some()),
            Place::Elsewhere => false,
        };
        for (index, child) in container.children.iter().enumerate() {
            let first = index == 0;
            let section = !first && sections;
            let starts_blank = child.leading.first().map_or(child.blank, |remark| remark.blank);
            if section || (starts_blank && !first) {
                self.blank();
            }
            self.remarks(&child.leading, indent, true);
            if child.blank && !child.leading.is_empty() {
                self.blank();
            }
            self.child(child, indent, place);
        }
        self.remarks(&container.closing, indent, container.children.is_empty());
    }

    fn child(&mut self, child: &Child, indent: usize, place: Place) {
        let remark = child.trailing.as_ref();
        let nested = self.nested(child, indent);
        if let (Some(text), None, Some(_)) = (remark, &child.key, nested) {
            // There is no place behind a dash for a comment about the whole item.
            self.line(indent, text);
        }
        self.begin(indent);
        match &child.key {
            Some(key) => {
                let key = self.key(key);
                self.out.push_str(&key);
                self.out.push(':');
            }
            None => self.out.push('-'),
        }
        if !child.value.properties.is_empty() {
            self.out.push(' ');
            self.out.push_str(&child.value.properties);
        }
        let Some(container) = nested else {
            self.value(&child.value, indent, remark.map(String::as_str));
            return;
        };
        let inner = match (place, child.name()) {
            (Place::Document, Some("nodes")) => Place::NodeMap,
            _ => Place::Elsewhere,
        };
        if child.key.is_none() && child.value.properties.is_empty() && !leads(container) {
            self.out.push(' ');
            self.inline = true;
        } else if let (Some(text), Some(_)) = (remark, &child.key) {
            self.out.push_str("  ");
            self.out.push_str(text);
        }
        self.children(container, indent + STEP, inner);
    }

    /// The container of a child that is printed line by line; `None` for everything on the child's own line.
    fn nested<'tree>(&self, child: &'tree Child, indent: usize) -> Option<&'tree Container> {
        let container = child.value.container()?;
        if container.children.is_empty() {
            return None;
        }
        if !container.is_flow {
            return Some(container);
        }
        let key = child.key.as_ref().map_or(0, |key| self.key(key).chars().count());
        let properties = child.value.properties.chars().count();
        let before = indent + key + 2 + properties + usize::from(properties > 0);
        if self.one_line(&child.value, before).is_some() { None } else { Some(container) }
    }

    fn value(&mut self, value: &Node, indent: usize, remark: Option<&str>) {
        let behind = |out: &mut String| {
            if let Some(text) = remark {
                out.push_str("  ");
                out.push_str(text);
            }
        };
        let Content::Scalar(scalar) = &value.content else {
            if let Some(line) = self.unpropertied(value) {
                self.out.push(' ');
                self.out.push_str(&line);
            }
            behind(&mut self.out);
            return;
        };
        let lines = scalar::lines(self.text, scalar);
        if !lines.first.is_empty() {
            self.out.push(' ');
            self.out.push_str(&lines.first);
        }
        if lines.is_block {
            behind(&mut self.out);
        }
        for line in &lines.rest {
            self.out.push('\n');
            if !line.is_empty() {
                self.out.extend(std::iter::repeat_n(' ', indent + STEP));
                self.out.push_str(line);
            }
        }
        if !lines.is_block {
            behind(&mut self.out);
        }
        self.keeps_blank = lines.keeps_blank;
    }

    fn key(&self, key: &Node) -> String {
        let text = match &key.content {
            Content::Scalar(scalar) => scalar::lines(self.text, scalar).first,
            // A colon right behind an alias would be part of its name.
            Content::Alias => format!("{} ", self.raw(key)),
            Content::Container(_) => String::new(),
        };
        if key.properties.is_empty() { text } else { format!("{} {text}", key.properties) }
    }

    fn raw(&self, node: &Node) -> &str {
        self.text.get(node.start..node.end).unwrap_or_default()
    }

    /// A value on one line in brackets, when it fits behind so many columns.
    fn one_line(&self, node: &Node, before: usize) -> Option<String> {
        self.unpropertied(node).filter(|line| before + line.chars().count() <= WIDTH)
    }

    fn unpropertied(&self, node: &Node) -> Option<String> {
        match &node.content {
            Content::Alias => Some(self.raw(node).to_owned()),
            Content::Scalar(scalar) => {
                let lines = scalar::lines(self.text, scalar);
                if lines.is_block || !lines.rest.is_empty() { None } else { Some(lines.first) }
            }
            Content::Container(container) => self.brackets(container),
        }
    }

    fn brackets(&self, container: &Container) -> Option<String> {
        let (open, close) = if container.is_mapping { ('{', '}') } else { ('[', ']') };
        if !container.closing.is_empty() || (!container.is_flow && !container.children.is_empty()) {
            return None;
        }
        let mut line = String::from(open);
        for (index, child) in container.children.iter().enumerate() {
            if !child.leading.is_empty() || child.trailing.is_some() {
                return None;
            }
            if index > 0 {
                line.push_str(", ");
            }
            if let Some(key) = &child.key {
                line.push_str(&self.key(key));
                line.push_str(": ");
            }
            if !child.value.properties.is_empty() {
                line.push_str(&child.value.properties);
                line.push(' ');
            }
            let value = self.unpropertied(&child.value)?;
            line.push_str(if value.is_empty() { "null" } else { &value });
        }
        line.push(close);
        Some(line)
    }
}

/// Whether a comment precedes the first child.
fn leads(container: &Container) -> bool {
    container.children.first().is_some_and(|child| !child.leading.is_empty())
}
