//! Items of lists: which change, which are new, and which go.

use stave_canon::Value;
use stave_diag::Span;

use super::{Place, Reconciler};
use crate::edit::EditError;
use crate::edit::matching::{Step, steps};
use crate::yaml::Tree;

impl Reconciler<'_> {
    pub(super) fn sequence(
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
