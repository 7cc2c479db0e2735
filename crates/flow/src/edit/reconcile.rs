//! Brings a text to hold another value while everything that stays the same keeps its bytes.
//!
//! The tree is walked beside the wanted value. Where both agree nothing is touched; where they differ the
//! smallest entry, item or scalar is replaced, inserted or removed, in the style of its neighbours and with
//! the comments that belong to it.

mod mapping;
mod sequence;

use stave_canon::Value;
use stave_diag::{Edit, Span};

use super::lines::Lines;
use super::render::{STEP, Style, double_quoted, is_literal, is_plain, single_quoted};
use super::{Donor, EditError};
use crate::yaml::{Tree, TreeValue};

pub(super) struct Reconciler<'text> {
    pub(super) lines: Lines<'text>,
    pub(super) style: Style<'text>,
    /// A text whose entries are copied, comments included, where they are what is to be inserted.
    pub(super) donor: Option<&'text Donor<'text>>,
    pub(super) edits: Vec<Edit>,
    path: Vec<String>,
}

/// The place of a value.
#[derive(Debug, Clone, Copy)]
struct Place<'text> {
    /// The offset right behind the `:` or `-` that the value belongs to.
    before: usize,
    key: &'text str,
    /// The column of the key or the dash.
    column: usize,
    in_flow: bool,
    is_item: bool,
}

impl<'text> Reconciler<'text> {
    pub(super) fn new(lines: Lines<'text>, style: Style<'text>, donor: Option<&'text Donor<'text>>) -> Self {
        Reconciler { lines, style, donor, edits: Vec::new(), path: Vec::new() }
    }

    /// The edits that make the whole document the wanted value.
    pub(super) fn document(mut self, root: &Tree, target: &Value) -> Result<Vec<Edit>, EditError> {
        let place = Place {
            before: root.span.start as usize,
            key: "",
            column: 0,
            in_flow: self.is_flow(root),
            is_item: false,
        };
        self.value(root, target, place)?;
        Ok(self.edits)
    }

    fn is_flow(&self, tree: &Tree) -> bool {
        self.lines.slice(tree.span).starts_with(['{', '['])
    }

    fn replace(&mut self, start: usize, end: usize, replacement: String) {
        let source = self.lines.source;
        self.edits.push(Edit { span: Span::new(source, start, end), replacement });
    }

    fn value(&mut self, tree: &Tree, target: &Value, place: Place<'_>) -> Result<(), EditError> {
        if tree.to_value() == *target {
            return Ok(());
        }
        match (&tree.value, target) {
            (TreeValue::Mapping(entries), Value::Object(object))
                if !entries.is_empty() && !object.is_empty() =>
            {
                self.mapping(tree, entries, object, place)
            }
            (TreeValue::Sequence(items), Value::Array(wanted)) if !items.is_empty() && !wanted.is_empty() => {
                self.sequence(tree, items, wanted, place)
            }
            _ => {
                self.whole(tree, target, place);
                Ok(())
            }
        }
    }

    /// Replaces a value with another one.
    fn whole(&mut self, tree: &Tree, target: &Value, place: Place<'_>) {
        let span = tree.span;
        let (start, end) = (span.start as usize, span.end as usize);
        let is_empty = start == end || start < place.before;
        let (start, end) = if is_empty { (place.before, place.before) } else { (start, end) };
        let on_the_line =
            !self.lines.text.get(place.before..start).unwrap_or_default().contains(['\n', '\r']);
        if let (false, Value::String(text)) = (is_empty, target)
            && let Some(scalar) = self.scalar_like(tree, text, place.in_flow)
        {
            return self.trimmed(start, end, &scalar);
        }
        if place.in_flow {
            let space = if is_empty { " " } else { "" };
            return self.replace(start, end, format!("{space}{}", self.style.inline(target)));
        }
        let rendered = match target {
            Value::Object(object) if place.is_item && !object.is_empty() => {
                format!(" {}", self.style.entries(object, place.column + STEP))
            }
            _ => self.style.after_key(place.key, target, place.column),
        };
        match rendered.strip_prefix(' ') {
            Some(inline) if on_the_line && !is_empty => self.replace(start, end, inline.to_owned()),
            _ => self.replace(place.before, end, rendered),
        }
    }

    /// A text in the style in which the old one was written, when that is possible.
    fn scalar_like(&self, tree: &Tree, text: &str, in_flow: bool) -> Option<String> {
        let old = self.lines.slice(tree.span);
        tree.text()?;
        if old.starts_with('|') && is_literal(text) {
            let header = old.lines().next().unwrap_or_default();
            let keeps_end = !header.trim_start_matches('|').starts_with('-');
            let plain = header.trim_start_matches('|').trim_start_matches('-');
            if keeps_end != text.ends_with('\n') || !(plain.is_empty() || plain.starts_with([' ', '\t'])) {
                return None;
            }
            let first = old.lines().skip(1).find(|line| !line.trim().is_empty())?;
            let indent = first.len() - first.trim_start_matches(' ').len();
            let body = self.style.literal(text, indent);
            let body = body.trim_start_matches('|').trim_start_matches('-');
            return Some(format!("{header}{body}"));
        }
        if is_literal(text) && !in_flow {
            return None;
        }
        match old.chars().next()? {
            '"' => Some(double_quoted(text)),
            '\'' => Some(single_quoted(text).unwrap_or_else(|| double_quoted(text))),
            '|' | '>' | '&' | '!' | '*' => None,
            _ if is_plain(text, in_flow) => Some(text.to_owned()),
            _ => Some(double_quoted(text)),
        }
    }

    /// Replaces only the part in which the old text and the new one differ.
    fn trimmed(&mut self, start: usize, end: usize, text: &str) {
        let old = self.lines.text.get(start..end).unwrap_or_default();
        let same = old.chars().zip(text.chars()).take_while(|(left, right)| left == right);
        let head: usize = same.map(|(character, _)| character.len_utf8()).sum();
        let (old_rest, new_rest) = (&old[head..], &text[head..]);
        let same = old_rest.chars().rev().zip(new_rest.chars().rev());
        let tail: usize =
            same.take_while(|(left, right)| left == right).map(|(character, _)| character.len_utf8()).sum();
        let replacement = new_rest[..new_rest.len() - tail].to_owned();
        self.replace(start + head, end - tail, replacement);
    }

    /// The line break between entries: with an empty line where the neighbours have one.
    fn separator(&self, starts: &[usize], column: usize) -> String {
        let newline = self.style.newline;
        let separated = starts.windows(2).next_back().is_some_and(|pair| match pair {
            [_, last] => self.lines.has_blank_before(*last),
            _ => false,
        });
        let blank = if separated { newline } else { "" };
        format!("{blank}{newline}{}", " ".repeat(column))
    }

    fn insert_parts(&mut self, after: Option<usize>, first: Option<usize>, parts: &[String], glue: &str) {
        let text = parts.join(glue);
        match (after, first) {
            (Some(at), _) => self.replace(at, at, format!("{glue}{text}")),
            (None, Some(at)) => self.replace(at, at, format!("{text}{glue}")),
            (None, None) => {}
        }
    }

    /// Removes parts of a flow collection with the comma beside each.
    fn remove_parts(&mut self, parts: &[(Span, bool)]) {
        let mut index = 0;
        while let Some((span, is_kept)) = parts.get(index) {
            if *is_kept {
                index += 1;
                continue;
            }
            let run = parts.iter().skip(index).take_while(|(_, is_kept)| !is_kept).count();
            let last = parts.get(index + run - 1).map_or(*span, |(span, _)| *span);
            let before = index.checked_sub(1).and_then(|index| parts.get(index));
            match (parts.get(index + run), before) {
                (Some((next, _)), _) => self.replace(span.start as usize, next.start as usize, String::new()),
                (None, Some((before, _))) => {
                    self.replace(before.end as usize, last.end as usize, String::new());
                }
                (None, None) => self.replace(span.start as usize, last.end as usize, String::new()),
            }
            index += run;
        }
    }
}
