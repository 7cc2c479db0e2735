//! Brings a text to hold another value while everything that stays the same keeps its bytes.
//!
//! The tree is walked beside the wanted value. Where both agree nothing is touched; where they differ the
//! smallest entry, item or scalar is replaced, inserted or removed, in the style of its neighbours and with
//! the comments that belong to it.

use stave_canon::{Object, Value};
use stave_diag::{Edit, Span};

use super::lines::Lines;
use super::matching::{Step, steps};
use super::render::{STEP, Style, double_quoted, is_literal, is_plain, single_quoted};
use super::{Donor, EditError};
use crate::yaml::{Entry, Tree, TreeValue};

pub(super) struct Reconciler<'text> {
    pub(super) lines: Lines<'text>,
    pub(super) style: Style<'text>,
    /// A text whose entries are copied, comments included, where they are what is to be inserted.
    pub(super) donor: Option<&'text Donor<'text>>,
    pub(super) edits: Vec<Edit>,
    path: Vec<String>,
}

/// New entries of a mapping, and the entry behind which they are written.
type Group<'tree> = (Option<&'tree Entry>, Vec<(&'tree String, &'tree Value)>);

/// Where a value stands.
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

    /// Writes a value anew where another one stands.
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

    fn mapping(
        &mut self,
        tree: &Tree,
        entries: &[Entry],
        object: &Object,
        place: Place<'_>,
    ) -> Result<(), EditError> {
        let is_local =
            |entry: &Entry| entry.key.span.start >= tree.span.start && entry.key.span.end <= tree.span.end;
        let local: Vec<&Entry> = entries.iter().filter(|entry| is_local(entry)).collect();
        for entry in entries.iter().filter(|entry| !is_local(entry)) {
            let same = object.get(&entry.key.value).is_some_and(|value| *value == entry.value.to_value());
            if !same {
                return Err(EditError::Alias { span: tree.span });
            }
        }
        let kept: Vec<&Entry> =
            local.iter().copied().filter(|entry| object.contains_key(&entry.key.value)).collect();
        let Some(first) = kept.first() else {
            self.whole(tree, &Value::Object(object.clone()), place);
            return Ok(());
        };
        let in_flow = place.in_flow || self.is_flow(tree);
        let column = if in_flow { place.column } else { self.lines.column(first.key.span.start as usize) };
        for entry in &kept {
            let Some(wanted) = object.get(&entry.key.value) else { continue };
            let before = self.colon_end(entry)?;
            self.path.push(entry.key.value.clone());
            let place = Place { before, key: &entry.key.value, column, in_flow, is_item: false };
            let result = self.value(&entry.value, wanted, place);
            self.path.pop();
            result?;
        }
        self.insert_entries(tree, entries, object, &kept, column, in_flow)?;
        if in_flow {
            let parts: Vec<(Span, bool)> = local
                .iter()
                .map(|entry| {
                    let end = entry.value.span.end.max(entry.key.span.end);
                    let span = Span { end, ..entry.key.span };
                    (span, object.contains_key(&entry.key.value))
                })
                .collect();
            self.remove_parts(&parts);
        } else {
            self.remove_entries(&local, object, column)?;
        }
        Ok(())
    }

    fn insert_entries(
        &mut self,
        tree: &Tree,
        entries: &[Entry],
        object: &Object,
        kept: &[&Entry],
        column: usize,
        in_flow: bool,
    ) -> Result<(), EditError> {
        let mut anchor: Option<&Entry> = None;
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (key, value) in object {
            if let Some(entry) = kept.iter().find(|entry| entry.key.value == *key) {
                anchor = Some(entry);
            } else if !entries.iter().any(|entry| entry.key.value == *key) {
                match groups.last_mut() {
                    Some((last, group))
                        if last.map(|entry| entry.key.span) == anchor.map(|entry| entry.key.span) =>
                    {
                        group.push((key, value));
                    }
                    _ => groups.push((anchor, vec![(key, value)])),
                }
            }
        }
        let starts: Vec<usize> = kept.iter().map(|entry| entry.key.span.start as usize).collect();
        for (anchor, group) in groups {
            if in_flow {
                let spread = self.lines.slice(tree.span).contains('\n');
                let column = self.lines.indent(kept.first().map_or(0, |entry| entry.key.span.start as usize));
                let glue = if spread {
                    format!(",{}{}", self.style.newline, " ".repeat(column))
                } else {
                    ", ".to_owned()
                };
                let parts: Vec<String> = group
                    .iter()
                    .map(|(key, value)| {
                        let value =
                            if spread { self.style.spread(value, column) } else { self.style.inline(value) };
                        format!("{}: {value}", self.style.text(key, true))
                    })
                    .collect();
                self.insert_parts(
                    anchor.map(|entry| self.entry_end(entry)),
                    starts.first().copied(),
                    &parts,
                    &glue,
                );
                continue;
            }
            let break_ = self.separator(&starts, column);
            let parts: Vec<String> = group
                .iter()
                .map(|(key, value)| {
                    self.donated_entry(key, value, column)
                        .unwrap_or_else(|| self.style.entry(key, value, column))
                })
                .collect();
            match anchor {
                Some(entry) => {
                    let at = self.lines.end(self.entry_end(entry));
                    let text: String = parts.iter().map(|part| format!("{break_}{part}")).collect();
                    self.replace(at, at, text);
                }
                None => {
                    let at = starts.first().copied().unwrap_or_default();
                    let text: String = parts.iter().map(|part| format!("{part}{break_}")).collect();
                    self.replace(at, at, text);
                }
            }
        }
        Ok(())
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

    fn entry_end(&self, entry: &Entry) -> usize {
        let key_end = entry.key.span.end as usize;
        let colon = self.colon_end(entry).unwrap_or(key_end);
        (entry.value.span.end as usize).max(colon)
    }

    fn colon_end(&self, entry: &Entry) -> Result<usize, EditError> {
        let from = entry.key.span.end as usize;
        let rest = self.lines.text.get(from..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        if rest[blank..].starts_with(':') {
            return Ok(from + blank + 1);
        }
        Err(EditError::Layout { span: entry.key.span })
    }

    fn remove_entries(&mut self, local: &[&Entry], object: &Object, column: usize) -> Result<(), EditError> {
        let mut skip_to = 0;
        for (index, entry) in local.iter().enumerate() {
            let start = entry.key.span.start as usize;
            if object.contains_key(&entry.key.value) || start < skip_to {
                continue;
            }
            if !self.lines.is_first(start) {
                // The first key behind a dash: the next key that stays takes its place.
                let next = local.iter().skip(index).find(|entry| object.contains_key(&entry.key.value));
                let Some(next) = next else { return Err(EditError::Layout { span: entry.key.span }) };
                skip_to = next.key.span.start as usize;
                self.replace(start, skip_to, String::new());
                continue;
            }
            let (from, to) = self.lines.block(start, self.entry_end(entry), column, true);
            self.replace(from, to, String::new());
        }
        Ok(())
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

    fn sequence(
        &mut self,
        tree: &Tree,
        items: &[Tree],
        wanted: &[Value],
        place: Place<'_>,
    ) -> Result<(), EditError> {
        if items.iter().any(|item| item.span.start < tree.span.start || item.span.end > tree.span.end) {
            return Err(EditError::Alias { span: tree.span });
        }
        let values: Vec<Value> = items.iter().map(Tree::to_value).collect();
        let steps = steps(&values, wanted);
        let keeps_any = steps.iter().any(|step| matches!(step, Step::Keep { .. }));
        if !keeps_any {
            self.whole(tree, &Value::Array(wanted.to_vec()), place);
            return Ok(());
        }
        let in_flow = place.in_flow || self.is_flow(tree);
        let mut dashes = Vec::with_capacity(items.len());
        if !in_flow {
            for item in items {
                dashes.push(
                    self.lines.dash(item.span.start as usize).ok_or(EditError::Layout { span: item.span })?,
                );
            }
        }
        let column = dashes.first().map_or(place.column, |dash| self.lines.column(*dash));
        let comments = dashes.iter().filter(|dash| self.lines.leading(**dash, column) < **dash).count();
        let takes_comments = comments * 2 > dashes.len();
        let first_kept = steps.iter().find_map(|step| match step {
            Step::Keep { old, .. } => Some(*old),
            _ => None,
        });
        let mut anchor: Option<usize> = None;
        let mut parts: Vec<(Span, bool)> = items.iter().map(|item| (item.span, true)).collect();
        let mut new: Vec<(Option<usize>, Vec<&Value>)> = Vec::new();
        for step in steps {
            match step {
                Step::Keep { old, new } => {
                    anchor = Some(old);
                    let (Some(item), Some(value)) = (items.get(old), wanted.get(new)) else { continue };
                    let before = dashes.get(old).map_or(item.span.start as usize, |dash| dash + 1);
                    self.path.push(old.to_string());
                    let place = Place { before, key: "", column, in_flow, is_item: true };
                    let result = self.value(item, value, place);
                    self.path.pop();
                    result?;
                }
                Step::Remove { old } => {
                    if let Some(part) = parts.get_mut(old) {
                        part.1 = false;
                    }
                    if let (Some(dash), Some(item)) = (dashes.get(old), items.get(old)) {
                        if !self.lines.is_first(*dash) {
                            return Err(EditError::Layout { span: item.span });
                        }
                        let end = (item.span.end as usize).max(dash + 1);
                        let (from, to) = self.lines.block(*dash, end, column, takes_comments);
                        self.replace(from, to, String::new());
                    }
                }
                Step::Insert { new: index } => {
                    let Some(value) = wanted.get(index) else { continue };
                    match new.last_mut() {
                        Some((last, group)) if *last == anchor => group.push(value),
                        _ => new.push((anchor, vec![value])),
                    }
                }
            }
        }
        let flow_items = items.iter().filter(|item| item.entries().is_some() && self.is_flow(item)).count();
        for (anchor, group) in new {
            let after = anchor.and_then(|index| items.get(index)).map(|item| item.span.end as usize);
            if in_flow {
                let spread = self.lines.slice(tree.span).contains('\n');
                let indent = self.lines.indent(items.first().map_or(0, |item| item.span.start as usize));
                let glue = if spread {
                    format!(",{}{}", self.style.newline, " ".repeat(indent))
                } else {
                    ", ".to_owned()
                };
                let parts: Vec<String> = group
                    .iter()
                    .map(
                        |value| {
                            if spread { self.style.spread(value, indent) } else { self.style.inline(value) }
                        },
                    )
                    .collect();
                self.insert_parts(after, items.first().map(|item| item.span.start as usize), &parts, &glue);
                continue;
            }
            let break_ = self.separator(&dashes, column);
            let parts: Vec<String> = group
                .iter()
                .map(|value| {
                    if let Some(donated) = self.donated_item(value, column) {
                        donated
                    } else if flow_items > 0 && flow_items * 2 >= items.len() && value.as_object().is_some() {
                        format!("- {}", self.style.inline(value))
                    } else {
                        self.style.item(value, column)
                    }
                })
                .collect();
            let dash = anchor.and_then(|index| dashes.get(index)).copied();
            match (after, dash) {
                (Some(end), Some(dash)) => {
                    let at = self.lines.end(end.max(dash + 1));
                    let text: String = parts.iter().map(|part| format!("{break_}{part}")).collect();
                    self.replace(at, at, text);
                }
                _ => {
                    let at = first_kept.and_then(|old| dashes.get(old)).copied().unwrap_or_default();
                    let text: String = parts.iter().map(|part| format!("{part}{break_}")).collect();
                    self.replace(at, at, text);
                }
            }
        }
        if in_flow {
            self.remove_parts(&parts);
        }
        Ok(())
    }

    /// The entry as the donor has it at the same place, with its comments.
    fn donated_entry(&self, key: &str, value: &Value, column: usize) -> Option<String> {
        let donor = self.donor?;
        let mut here = donor.tree;
        for step in &self.path {
            here = here.get(step)?;
        }
        let entry = here.entry(key)?;
        if entry.value.to_value() != *value {
            return None;
        }
        let start = entry.key.span.start as usize;
        donor.lines.copied(
            start,
            (entry.value.span.end as usize).max(entry.key.span.end as usize),
            column,
            self.style.newline,
        )
    }

    fn donated_item(&self, value: &Value, column: usize) -> Option<String> {
        let donor = self.donor?;
        let mut here = donor.tree;
        for step in &self.path {
            here = here.get(step)?;
        }
        let item = here.items()?.iter().find(|item| item.to_value() == *value)?;
        let dash = donor.lines.dash(item.span.start as usize)?;
        donor.lines.copied(dash, item.span.end as usize, column, self.style.newline)
    }
}
