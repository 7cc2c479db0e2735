//! Commands on a text, one after the other, all or none.

use stave_diag::{Diagnostic, Edit, SourceId};

use super::change::change;
use super::state::State;
use super::{EditError, EditRequest, FlowEdit};
use crate::check::CheckOptions;
use crate::diff::{Diff, diff_texts};
use crate::semantic_hash;

/// What came of an edit.
#[derive(Debug, Clone)]
pub struct Edited {
    pub text: String,
    /// The semantic hash of the result. Absent when a number in it has no exact canonical form.
    pub hash: Option<String>,
    pub diff: Diff,
    /// Restores the bytes from before.
    pub inverse: EditRequest,
    /// Everything that is to be said about the result.
    pub diagnostics: Vec<Diagnostic>,
}

/// Applies commands to a text. The base hash is compared first; the result is checked, and refused when
/// it has more errors than the text had.
pub fn apply(text: &str, request: &EditRequest, options: &CheckOptions) -> Result<Edited, EditError> {
    let mut state = State::read(text.to_owned())?;
    let base = semantic_hash(&state.tree).ok();
    if let Some(expected) = &request.base_hash
        && base.as_ref() != Some(expected)
    {
        let found = base.unwrap_or_else(|| "not defined".to_owned());
        return Err(EditError::OtherBase { expected: expected.clone(), found });
    }
    let before = crate::load(SourceId(0), text, options).diagnostics;
    let mut undo: Vec<FlowEdit> = Vec::new();
    for command in &request.commands {
        let edits = change(&state, command)?;
        let changed = stave_diag::apply(&state.text, &edits)
            .map_err(|conflict| EditError::Layout { span: conflict.second })?;
        undo.extend(inverse(&state.text, &edits));
        state = State::read(changed)?;
    }
    let after = crate::load(SourceId(0), &state.text, options).diagnostics;
    let errors = |found: &[Diagnostic]| found.iter().filter(|found| found.is_error()).count();
    let (had, has) = (errors(&before), errors(&after));
    if has > had && !request.allow_errors {
        let is_old = |found: &Diagnostic| {
            before.iter().any(|old| old.code == found.code && old.message == found.message)
        };
        let diagnostics: Vec<Diagnostic> =
            after.into_iter().filter(|found| found.is_error() && !is_old(found)).collect();
        return Err(EditError::AddsErrors { diagnostics, text: state.text });
    }
    undo.reverse();
    let hash = semantic_hash(&state.tree).ok();
    let inverse = EditRequest { base_hash: hash.clone(), allow_errors: had > has, commands: undo };
    let diff = diff_texts(text, &state.text);
    Ok(Edited { hash, diff, inverse, diagnostics: after, text: state.text })
}

/// The replacements that take the edits back, in the order in which they are to be undone when the whole
/// list is read backwards.
pub(super) fn inverse(text: &str, edits: &[Edit]) -> Vec<FlowEdit> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut moved: i64 = 0;
    let mut commands = Vec::with_capacity(ordered.len());
    for edit in ordered {
        let range = edit.span.range();
        let old = text.get(range.clone()).unwrap_or_default();
        let at = range.start as i64 + moved;
        commands.push(FlowEdit::ReplaceText {
            at: usize::try_from(at).unwrap_or_default(),
            remove: edit.replacement.clone(),
            insert: old.to_owned(),
        });
        moved += edit.replacement.len() as i64 - old.len() as i64;
    }
    commands
}
