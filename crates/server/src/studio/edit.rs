//! Edits: commands or a sentence, tried on a text. What comes back is a proposal; nothing is written.

use std::sync::Arc;

use hyper::StatusCode;
use similar::{ChangeTag, TextDiff};
use stave_diag::{Colour, SourceId};
use stave_flow::CheckOptions;
use stave_flow::diff::show;
use stave_flow::edit::chat::{FORMS, Meaning, understand};
use stave_flow::edit::{EditError, EditRequest, FlowEdit, apply};

use super::Studio;
use super::analysis::analysis;
use super::findings::findings;
use super::places::Places;
use super::request::{TextCall, problem};
use crate::api::text_types::{
    ChatText, Diff, EditCommand, EditText, Edited, InverseEdit, Proposed, ProposedBy, TextChange,
};
use crate::handlers::Call;
use crate::problem::Problem;

/// The most commands in one edit.
const MOST_COMMANDS: usize = 1000;

/// The longest wish.
const MESSAGE_BYTES: usize = 8 * 1024;

pub(super) async fn edit(call: Call<'_>, studio: &Studio) -> Result<Edited, Problem> {
    let mut call = TextCall::<EditText>::read(call, studio).await?;
    let request = EditRequest {
        base_hash: call.body.base_hash.take(),
        allow_errors: call.body.allow_errors.unwrap_or_default(),
        commands: std::mem::take(&mut call.body.commands).into_iter().map(|command| command.0).collect(),
    };
    if request.commands.len() > MOST_COMMANDS {
        return Err(Problem::bad_request(format!("an edit has at most {MOST_COMMANDS} commands")));
    }
    call.work(studio, move |call, options, _| proposal(&call.text, &request, &options)).await?
}

pub(super) async fn chat(call: Call<'_>, studio: &Studio) -> Result<Proposed, Problem> {
    let (limit, principal) = (call.shared.limits().request, call.principal.clone());
    let call = TextCall::<ChatText>::read(call, studio).await?;
    let message = call.body.message.trim();
    if message.is_empty() || message.len() > MESSAGE_BYTES {
        let detail = format!("`message` must be a sentence of at most {MESSAGE_BYTES} bytes");
        return Err(Problem::bad_request(detail));
    }
    let is_offline = call.body.offline.unwrap_or_default();
    let (message, workspace) = (message.to_owned(), Arc::clone(&studio.workspace));
    // Whose model would be asked is known by the path only.
    let project = call.path.as_deref().and_then(|path| workspace.project_of(path));
    let has_model = project.is_some_and(|project| project.model.is_some());
    let work = move || {
        let options = workspace.options(call.path.as_deref());
        let read = stave_flow::parse(SourceId(0), &call.text);
        let Some(flow) = read.flow else {
            return Err(refused(EditError::NotAFlow { diagnostics: read.diagnostics }, &call.text));
        };
        let (commands, by) = match understand(&flow, &message) {
            Meaning::Commands(commands) => (commands, ProposedBy::Grammar),
            _ if !is_offline && has_model => {
                let asked = workspace.ask(call.path.as_deref().unwrap_or_default(), &call.text, &message);
                (asked.map_err(|error| problem(&error, Some(&call.text)))?, ProposedBy::Model)
            }
            Meaning::Unclear(reason) => return Err(not_understood(&reason)),
            Meaning::Unknown => return Err(not_understood("the sentence is not understood without a model")),
        };
        Ok(proposal(&call.text, &EditRequest::new(commands), &options)?.by(by))
    };
    studio.work(&principal, limit, work).await?
}

fn not_understood(reason: &str) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "not-understood", reason).with_forms(FORMS)
}

/// What an edit makes of a text.
fn proposal(text: &str, request: &EditRequest, options: &CheckOptions) -> Result<Edited, Problem> {
    let edited = apply(text, request, options).map_err(|error| refused(error, text))?;
    let commands = |commands: &[FlowEdit]| commands.iter().cloned().map(EditCommand).collect();
    let inverse = edited.inverse;
    Ok(Edited {
        hash: edited.hash.into(),
        commands: commands(&request.commands),
        shown: show(&edited.diff, Colour::Never).to_string().lines().map(str::to_owned).collect(),
        diff: Diff::of(&edited.diff),
        inverse: InverseEdit {
            base_hash: inverse.base_hash,
            allow_errors: inverse.allow_errors.then_some(true),
            commands: commands(&inverse.commands),
        },
        changes: changes(text, &edited.text),
        analysis: analysis(&edited.text, options),
        text: edited.text,
    })
}

/// The edit as changes of the text before it, line by line, so that a cursor and a history survive it.
fn changes(before: &str, after: &str) -> Vec<TextChange> {
    let places = Places::new(before);
    let diff = TextDiff::from_lines(before, after);
    let mut changes = Vec::new();
    let change = |bytes: std::ops::Range<usize>, insert: &str| TextChange {
        offset: places.unit(bytes.start),
        end_offset: places.unit(bytes.end),
        insert: insert.to_owned(),
    };
    let (mut at, mut removed, mut inserted) = (0, 0, String::new());
    for line in diff.iter_all_changes() {
        match line.tag() {
            ChangeTag::Equal => {
                if removed > 0 || !inserted.is_empty() {
                    changes.push(change(at..at + removed, &inserted));
                }
                at += removed + line.value().len();
                removed = 0;
                inserted.clear();
            }
            ChangeTag::Delete => removed += line.value().len(),
            ChangeTag::Insert => inserted.push_str(line.value()),
        }
    }
    if removed > 0 || !inserted.is_empty() {
        changes.push(change(at..at + removed, &inserted));
    }
    changes
}

fn refused(error: EditError, text: &str) -> Problem {
    let said = error.to_string();
    let refusal = |reason: &str, help: Option<String>| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "edit-refused", said.as_str())
            .with_reason(reason, help)
    };
    let with_findings = |problem: Problem, found: &[stave_diag::Diagnostic], text: &str| {
        problem.with_diagnostics(findings(found, None, &Places::new(text)))
    };
    match error {
        EditError::NotAFlow { diagnostics } => with_findings(refusal("not-a-flow", None), &diagnostics, text),
        EditError::OtherBase { .. } => refusal("other-base", Some("read the flow again".to_owned())),
        EditError::Unknown { help, .. } => refusal("unknown", help),
        EditError::Exists { .. } => refusal("exists", None),
        EditError::Invalid { .. } => refusal("invalid", None),
        EditError::OtherText { .. } => refusal("other-text", None),
        EditError::Alias { .. } => {
            refusal("alias", Some("write the value out in place of the alias, then edit it".to_owned()))
        }
        EditError::Layout { .. } => refusal("layout", None),
        EditError::AddsErrors { diagnostics, text } => {
            let problem = with_findings(refusal("adds-errors", None), &diagnostics, &text);
            problem.with_text(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn applied(before: &str, changes: &[TextChange]) -> String {
        let places = Places::new(before);
        let mut text = before.to_owned();
        for change in changes.iter().rev() {
            let range = places.byte(change.offset.into())..places.byte(change.end_offset.into());
            text.replace_range(range, &change.insert);
        }
        text
    }

    proptest! {
        #[test]
        fn the_changes_make_the_new_text_of_the_old(
            before in "([a-cé🎵]{0,4}\r?\n){0,6}[ab]{0,2}",
            after in "([a-cé🎵]{0,4}\r?\n){0,6}[ab]{0,2}",
        ) {
            prop_assert_eq!(applied(&before, &changes(&before, &after)), after);
        }
    }
}
