//! A text between two commands: read, and ready to be changed.

use stave_canon::Value;
use stave_diag::{Diagnostic, Edit, SourceId};

use super::EditError;
use super::lines::Lines;
use super::reconcile::Reconciler;
use super::render::Style;
use crate::model::Flow;
use crate::yaml::{Comment, Tree};

/// The text with its tree, its comments and the flow in it.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) text: String,
    pub(crate) tree: Tree,
    pub(crate) comments: Vec<Comment>,
    pub(crate) flow: Flow,
}

/// A text from which entries are copied with their comments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Donor<'text> {
    pub(crate) lines: Lines<'text>,
    pub(crate) tree: &'text Tree,
}

impl State {
    pub(crate) fn read(text: String) -> Result<Self, EditError> {
        let parsed = crate::parse(SourceId(0), &text);
        let (Some(tree), Some(flow)) = (parsed.tree, parsed.flow) else {
            let diagnostics = parsed.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
            return Err(EditError::NotAFlow { diagnostics });
        };
        Ok(State { text, tree, comments: parsed.comments, flow })
    }

    pub(crate) fn value(&self) -> Value {
        self.tree.to_value()
    }

    pub(crate) fn donor(&self) -> Donor<'_> {
        Donor { lines: self.lines(), tree: &self.tree }
    }

    pub(crate) fn lines(&self) -> Lines<'_> {
        Lines { text: &self.text, source: SourceId(0), comments: &self.comments }
    }
}

/// The edits after which the text holds `target`, proved by reading the result.
pub(crate) fn rewrite(
    state: &State,
    target: &Value,
    donor: Option<&Donor<'_>>,
) -> Result<Vec<Edit>, EditError> {
    let attempt = |donor| {
        let style = Style { newline: newline(&state.text), json: is_json(&state.text) };
        let edits = Reconciler::new(state.lines(), style, donor).document(&state.tree, target)?;
        proved(state, target, edits)
    };
    match (attempt(donor), donor) {
        (Err(_), Some(_)) => attempt(None),
        (result, _) => result,
    }
}

fn proved(state: &State, target: &Value, edits: Vec<Edit>) -> Result<Vec<Edit>, EditError> {
    let fail = || EditError::Layout { span: edits.first().map_or(state.tree.span, |edit| edit.span) };
    let text = stave_diag::apply(&state.text, &edits).map_err(|_| fail())?;
    let document = crate::yaml::read(SourceId(0), &text);
    let is_meant = document.root.as_ref().is_some_and(|root| root.to_value() == *target);
    if is_meant { Ok(edits) } else { Err(fail()) }
}

fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None if text.contains('\r') => "\r",
        None => "\n",
    }
}

/// A JSON document: everything in braces, and the first key in quotes.
fn is_json(text: &str) -> bool {
    let body = text.trim_start_matches('\u{feff}').trim_start();
    body.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}
