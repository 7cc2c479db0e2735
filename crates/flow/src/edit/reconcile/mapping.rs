//! Entries of mappings: which change, which are new, and which go.

use stave_canon::{Object, Value};
use stave_diag::Span;

use super::{Place, Reconciler};
use crate::edit::EditError;
use crate::yaml::{Tree, YamlEntry};

/// New entries of a mapping, and the entry behind which they are written.
type Group<'tree> = (Option<&'tree YamlEntry>, Vec<(&'tree String, &'tree Value)>);

impl Reconciler<'_> {
    pub(super) fn mapping(
        &mut self,
        tree: &Tree,
        entries: &[YamlEntry],
        object: &Object,
        place: Place<'_>,
    ) -> Result<(), EditError> {
        let is_local = |entry: &YamlEntry| {
            entry.key.span.start >= tree.span.start && entry.key.span.end <= tree.span.end
        };
        let local: Vec<&YamlEntry> = entries.iter().filter(|entry| is_local(entry)).collect();
        for entry in entries.iter().filter(|entry| !is_local(entry)) {
            let same = object.get(&entry.key.value).is_some_and(|value| *value == entry.value.to_value());
            if !same {
                return Err(EditError::Alias { span: tree.span });
            }
        }
        let kept: Vec<&YamlEntry> =
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
        entries: &[YamlEntry],
        object: &Object,
        kept: &[&YamlEntry],
        column: usize,
        in_flow: bool,
    ) -> Result<(), EditError> {
        let mut anchor: Option<&YamlEntry> = None;
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

    fn entry_end(&self, entry: &YamlEntry) -> usize {
        let key_end = entry.key.span.end as usize;
        let colon = self.colon_end(entry).unwrap_or(key_end);
        (entry.value.span.end as usize).max(colon)
    }

    fn colon_end(&self, entry: &YamlEntry) -> Result<usize, EditError> {
        let from = entry.key.span.end as usize;
        let rest = self.lines.text.get(from..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        if rest[blank..].starts_with(':') {
            return Ok(from + blank + 1);
        }
        Err(EditError::Layout { span: entry.key.span })
    }

    fn remove_entries(
        &mut self,
        local: &[&YamlEntry],
        object: &Object,
        column: usize,
    ) -> Result<(), EditError> {
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
}
