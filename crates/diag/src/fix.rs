//! Cures that a machine can apply.
//!
//! Invariant: a fix is applied whole or not at all, over all sources it touches.

use std::collections::BTreeMap;

use crate::source::whole_characters;
use crate::{SourceId, Sources, Span};

/// Replaces the text of a span; an empty span inserts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub span: Span,
    pub replacement: String,
}

/// A set of edits that belong together and cure one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as an imperative: "rename `foo` to `bar`".
    pub title: String,
    pub edits: Vec<Edit>,
}

impl Fix {
    #[must_use]
    pub fn replace(title: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        Fix { title: title.into(), edits: vec![Edit { span, replacement: replacement.into() }] }
    }

    #[must_use]
    pub fn insert(
        title: impl Into<String>,
        source: SourceId,
        offset: usize,
        text: impl Into<String>,
    ) -> Self {
        Fix::replace(title, Span::at(source, offset), text)
    }

    #[must_use]
    pub fn remove(title: impl Into<String>, span: Span) -> Self {
        Fix::replace(title, span, "")
    }
}

/// Two edits want the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConflictingEdits {
    pub first: Span,
    pub second: Span,
}

/// Applies edits of one source to its text; insertions at one place keep their order. Nothing is applied
/// when two of them overlap.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, ConflictingEdits> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    for pair in ordered.windows(2) {
        if let [first, second] = pair
            && second.span.start < first.span.end
        {
            return Err(ConflictingEdits { first: first.span, second: second.span });
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in ordered {
        let range = whole_characters(text, edit.span.range());
        out.push_str(text.get(done..range.start).unwrap_or_default());
        out.push_str(&edit.replacement);
        done = range.end.max(done);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(out)
}

/// What came of applying several fixes at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The changed sources with their whole text.
    pub texts: BTreeMap<SourceId, String>,
    /// Which fixes were applied, by their index. Of equal fixes all count as applied.
    pub applied: Vec<usize>,
    /// Which fixes were left out, by their index, because an earlier one wants the same place. Checking
    /// the changed text again shows whether they are still wanted.
    pub skipped: Vec<Skipped>,
}

/// A fix that could not be applied together with the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    pub fix: usize,
    pub conflict: ConflictingEdits,
}

/// Applies fixes in their order. One that overlaps an earlier one is skipped and reported; two that insert
/// at the same place overlap, since nobody said which text comes first.
#[must_use]
pub fn apply_fixes(sources: &Sources, fixes: &[&Fix]) -> Applied {
    let mut accepted: Vec<&Edit> = Vec::new();
    let mut accepted_fixes: Vec<&Fix> = Vec::new();
    let mut applied = Vec::new();
    let mut skipped = Vec::new();
    for (index, fix) in fixes.iter().enumerate() {
        if accepted_fixes.iter().any(|earlier| earlier.edits == fix.edits) {
            applied.push(index);
            continue;
        }
        let conflict = conflict_within(sources, &fix.edits)
            .or_else(|| fix.edits.iter().find_map(|edit| conflict_with(sources, &accepted, edit)));
        match conflict {
            Some(conflict) => skipped.push(Skipped { fix: index, conflict }),
            None => {
                accepted.extend(&fix.edits);
                accepted_fixes.push(fix);
                applied.push(index);
            }
        }
    }
    let mut edits_of: BTreeMap<SourceId, Vec<Edit>> = BTreeMap::new();
    for edit in accepted {
        edits_of.entry(edit.span.source).or_default().push(edit.clone());
    }
    let texts = edits_of
        .into_iter()
        .filter_map(|(id, edits)| Some((id, apply(sources.get(id)?.text(), &edits).ok()?)))
        .collect();
    Applied { texts, applied, skipped }
}

fn conflict_within(sources: &Sources, edits: &[Edit]) -> Option<ConflictingEdits> {
    edits.iter().enumerate().find_map(|(index, first)| {
        let second = edits.iter().skip(index + 1).find(|second| {
            let (first, second) = (sources.clamp(first.span), sources.clamp(second.span));
            overlap(first, second)
        })?;
        Some(ConflictingEdits { first: first.span, second: second.span })
    })
}

fn conflict_with(sources: &Sources, accepted: &[&Edit], edit: &Edit) -> Option<ConflictingEdits> {
    let first = accepted.iter().find(|earlier| {
        let (first, second) = (sources.clamp(earlier.span), sources.clamp(edit.span));
        overlap(first, second) || (first == second && first.is_empty())
    })?;
    Some(ConflictingEdits { first: first.span, second: edit.span })
}

fn overlap(first: Span, second: Span) -> bool {
    first.source == second.source && first.start < second.end && second.start < first.end
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "alpha beta gamma";

    fn sources() -> (Sources, SourceId) {
        let mut sources = Sources::new();
        let id = sources.add("flow.yaml", TEXT);
        (sources, id)
    }

    fn edit(start: usize, end: usize, replacement: &str) -> Edit {
        Edit { span: Span::new(SourceId(0), start, end), replacement: replacement.to_owned() }
    }

    #[test]
    fn edits_apply_in_the_order_of_the_text() {
        let edits = [edit(11, 16, "G"), edit(0, 5, "A"), edit(5, 5, "!"), edit(5, 5, "?")];
        assert_eq!(apply(TEXT, &edits).as_deref(), Ok("A!? beta G"));
    }

    #[test]
    fn overlapping_edits_are_refused_whole() {
        let result = apply(TEXT, &[edit(0, 5, "A"), edit(4, 8, "B")]);
        let (first, second) = (Span::new(SourceId(0), 0, 5), Span::new(SourceId(0), 4, 8));
        assert_eq!(result, Err(ConflictingEdits { first, second }));
    }

    #[test]
    fn an_edit_inside_a_character_or_past_the_end_loses_no_text() {
        assert_eq!(apply("a漢b", &[edit(2, 3, "x")]).as_deref(), Ok("axb"));
        assert_eq!(apply("ab", &[edit(7, 9, "!")]).as_deref(), Ok("ab!"));
    }

    #[test]
    fn fixes_of_one_source_apply_together() {
        let (sources, id) = sources();
        let rename = Fix::replace("rename", Span::new(id, 0, 5), "ALPHA");
        let remove = Fix::remove("remove", Span::new(id, 5, 10));
        let insert = Fix::insert("add", id, 16, "!");
        let applied = apply_fixes(&sources, &[&insert, &rename, &remove]);
        assert_eq!(applied.texts[&id], "ALPHA gamma!");
        assert_eq!(applied.applied, [0, 1, 2]);
        assert_eq!(applied.skipped, []);
    }

    #[test]
    fn a_fix_that_overlaps_an_earlier_one_is_skipped_whole() {
        let (sources, id) = sources();
        let first = Fix::replace("first", Span::new(id, 0, 5), "A");
        let second = Fix { title: "second".to_owned(), edits: vec![edit(11, 16, "G"), edit(3, 7, "x")] };
        let applied = apply_fixes(&sources, &[&first, &second]);
        assert_eq!(applied.texts[&id], "A beta gamma");
        let conflict = ConflictingEdits { first: Span::new(id, 0, 5), second: Span::new(id, 3, 7) };
        assert_eq!(applied.skipped, [Skipped { fix: 1, conflict }]);
    }

    #[test]
    fn the_same_fix_twice_is_applied_once() {
        let (sources, id) = sources();
        let insert = Fix::insert("add", id, 0, "> ");
        let applied = apply_fixes(&sources, &[&insert, &insert.clone()]);
        assert_eq!(applied.texts[&id], "> alpha beta gamma");
        assert_eq!(applied.applied, [0, 1]);
    }

    #[test]
    fn two_insertions_at_one_place_by_two_fixes_conflict() {
        let (sources, id) = sources();
        let applied =
            apply_fixes(&sources, &[&Fix::insert("one", id, 5, "1"), &Fix::insert("two", id, 5, "2")]);
        assert_eq!(applied.texts[&id], "alpha1 beta gamma");
        assert_eq!(applied.skipped.len(), 1);
    }

    #[test]
    fn a_fix_over_two_sources_stays_whole() {
        let (mut sources, id) = sources();
        let other = sources.add("other.yaml", "one two");
        let across = Fix {
            title: "rename in both".to_owned(),
            edits: vec![
                Edit { span: Span::new(id, 0, 5), replacement: "A".to_owned() },
                Edit { span: Span::new(other, 0, 3), replacement: "1".to_owned() },
            ],
        };
        let blocker = Fix::remove("remove", Span::new(id, 2, 6));
        assert_eq!(apply_fixes(&sources, &[&across]).texts.len(), 2);
        let applied = apply_fixes(&sources, &[&blocker, &across]);
        assert!(!applied.texts.contains_key(&other));
        assert_eq!(applied.applied, [0]);
    }
}
