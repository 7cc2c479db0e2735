//! Three-way merges of flows by meaning.
//!
//! Values are merged by name: nodes by id, ports and tools by name, edges by their ends, texts line by
//! line. The text of the result is the merge of the texts where that means the merged flow, and else our
//! text brought to it, so comments and layout stay.
//!
//! Invariant: the text that comes out holds the merged value; where both sides changed the same thing
//! differently it holds ours, and the conflict is named.

mod lines;
mod values;

use stave_canon::Value;
use stave_diag::SourceId;

use crate::diff::renamed;
use crate::edit::{EditError, EditRequest, FlowEdit, State, apply, rewrite};
use crate::yaml::{self, Tree};

/// What came of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub text: String,
    pub conflicts: Vec<Conflict>,
}

/// Something that both sides changed, and not to the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// A JSON Pointer, in which items of lists are named rather than counted.
    pub path: String,
    pub base: Option<Value>,
    pub ours: Option<Value>,
    pub theirs: Option<Value>,
}

/// One of the three texts is not a flow, or the result could not be written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MergeError {
    #[error("{side} cannot be read: {error}")]
    Unreadable { side: &'static str, error: EditError },
    #[error("the merged flow cannot be written into our text: {0}")]
    Unwritable(EditError),
}

impl Conflict {
    /// The JSON form.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let side = |value: &Option<Value>| value.clone().unwrap_or_default();
        Value::from_iter([
            ("path", Value::from(self.path.as_str())),
            ("base", side(&self.base)),
            ("ours", side(&self.ours)),
            ("theirs", side(&self.theirs)),
        ])
    }
}

/// Merges what two sides made of one flow.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Result<Merged, MergeError> {
    let read = |side: &'static str, text: &str| {
        State::read(text.to_owned()).map_err(|error| MergeError::Unreadable { side, error })
    };
    let (mut base, mut ours, mut theirs) =
        (read("base", base)?, read("ours", ours)?, read("theirs", theirs)?);
    let mut conflicts = Vec::new();
    follow_renames(&mut base, &mut ours, &mut theirs, &mut conflicts);
    let merged = values::merge(&base.value(), &ours.value(), &theirs.value(), &mut conflicts);
    let text = write(&base, &ours, &theirs, &merged).map_err(MergeError::Unwritable)?;
    let text = marked(&text, &conflicts);
    Ok(Merged { text, conflicts })
}

/// A node that one side renamed has its name on all sides before anything is compared.
fn follow_renames(base: &mut State, ours: &mut State, theirs: &mut State, conflicts: &mut Vec<Conflict>) {
    let by_us = renamed(&base.value(), &ours.value());
    let by_them = renamed(&base.value(), &theirs.value());
    for (from, to) in &by_us {
        match by_them.iter().find(|(other, _)| other == from) {
            Some((_, other)) if other != to => {
                let name = |name: &str| Some(Value::from(name));
                conflicts.push(Conflict {
                    path: format!("/nodes/{to}"),
                    base: name(from),
                    ours: name(to),
                    theirs: name(other),
                });
                rename(theirs, other, to);
            }
            Some(_) => {}
            None => rename(theirs, from, to),
        }
        rename(base, from, to);
    }
    for (from, to) in by_them.iter().filter(|(from, _)| !by_us.iter().any(|(other, _)| other == from)) {
        rename(ours, from, to);
        rename(base, from, to);
    }
}

/// A side that cannot be renamed stays as it is; its changes then come out as conflicts.
fn rename(state: &mut State, from: &str, to: &str) {
    let command = FlowEdit::RenameNode { from: from.to_owned(), to: to.to_owned() };
    let request = EditRequest { allow_errors: true, ..EditRequest::new(vec![command]) };
    if let Ok(edited) = apply(&state.text, &request, &crate::CheckOptions::default())
        && let Ok(renamed) = State::read(edited.text)
    {
        *state = renamed;
    }
}

fn write(base: &State, ours: &State, theirs: &State, merged: &Value) -> Result<String, EditError> {
    let holds = |text: &str| {
        let document = yaml::read(SourceId(0), text);
        document.root.is_some_and(|root| root.to_value() == *merged)
    };
    if let Some(text) = lines::merge(&base.text, &ours.text, &theirs.text).filter(|text| holds(text)) {
        return Ok(text);
    }
    let edits = rewrite(ours, merged, Some(&theirs.donor()))?;
    stave_diag::apply(&ours.text, &edits).map_err(|conflict| EditError::Layout { span: conflict.second })
}

/// The text with a comment above each place of conflict. A comment that would change the meaning is left
/// out.
fn marked(text: &str, conflicts: &[Conflict]) -> String {
    let mut text = text.to_owned();
    for conflict in conflicts {
        let document = yaml::read(SourceId(0), &text);
        let Some(root) = document.root else { continue };
        let at = place(&root, &conflict.path);
        let start = text.get(..at).unwrap_or_default().rfind('\n').map_or(0, |newline| newline + 1);
        let line = text.get(start..).unwrap_or_default();
        let indent = line.len() - line.trim_start_matches(' ').len();
        let side = |value: &Option<Value>| {
            value.as_ref().map_or_else(|| "nothing".to_owned(), stave_canon::python_spaced)
        };
        let comment = format!(
            "{}# CONFLICT {}: ours {}, theirs {}, base {}\n",
            " ".repeat(indent),
            conflict.path,
            side(&conflict.ours),
            side(&conflict.theirs),
            side(&conflict.base)
        );
        let mut with = text.clone();
        with.insert_str(start, &comment);
        let same = yaml::read(SourceId(0), &with).root.is_some_and(|root| {
            yaml::read(SourceId(0), &text).root.is_some_and(|old| old.to_value() == root.to_value())
        });
        if same {
            text = with;
        }
    }
    text
}

/// The offset of the deepest key or item on the way that a path leads.
fn place(root: &Tree, path: &str) -> usize {
    let mut here = root;
    let mut at = root.span.start as usize;
    for step in path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")) {
        let next = match here.entry(&step) {
            Some(entry) => Some((entry.key.span.start, &entry.value)),
            None => here.items().and_then(|items| {
                let named = |item: &&Tree| crate::edit::identity(&item.to_value()).as_deref() == Some(&step);
                items.iter().find(named).map(|item| (item.span.start, item))
            }),
        };
        let Some((start, tree)) = next else { break };
        at = start as usize;
        here = tree;
    }
    at
}
