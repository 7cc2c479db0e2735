//! Giving a node, a port or a context field another name.

use stave_diag::{Diagnostic, Edit, SourceId, Span};

use super::{Analysis, Symbol, occurrences};
use crate::check::CheckOptions;
use crate::edit::{Direction, EditRequest, FlowEdit, apply};
use crate::model::Flow;

/// The edits that give a symbol another name at every place that names it, or why it cannot have it.
pub fn rename_edits(flow: &Flow, text: &str, symbol: &Symbol, to: &str) -> Result<Vec<Edit>, String> {
    match symbol {
        Symbol::Property { .. } if !is_word(to) => {
            return Err(format!("`{to}` is not a name: it must match `[A-Za-z_][A-Za-z0-9_]*`"));
        }
        Symbol::Property { .. } => {}
        _ if !valid_name(to) => return Err(format!("`{to}` is not a name: it must match `[a-z][a-z0-9_]*`")),
        _ => {}
    }
    let found = occurrences(flow, text);
    if !found.iter().any(|occurrence| occurrence.is_definition && occurrence.symbol == *symbol) {
        return Err(format!("{} is not declared in this file", symbol.described()));
    }
    let own = found.into_iter().filter(|occurrence| occurrence.symbol == *symbol);
    Ok(own.map(|occurrence| Edit { span: occurrence.span, replacement: to.to_owned() }).collect())
}

/// The name at an offset that can be changed.
#[must_use]
pub fn renamable_at(analysis: &Analysis, offset: usize) -> Option<Span> {
    let found = analysis.occurrence_at(offset)?;
    let declared = |other: &&super::Occurrence| other.is_definition && other.symbol == found.symbol;
    analysis.occurrences.iter().any(|other| declared(&other)).then_some(found.span)
}

/// The edits that rename the name at an offset. A name that would add errors is refused.
pub fn rename_at(
    analysis: &Analysis,
    offset: usize,
    to: &str,
    options: &CheckOptions,
) -> Result<Vec<Edit>, String> {
    let Some(found) = analysis.occurrence_at(offset) else {
        return Err("there is no name here that could be changed".to_owned());
    };
    let Some(flow) = &analysis.flow else { return Err("the text is not a flow".to_owned()) };
    let edits = rename_edits(flow, &analysis.text, &found.symbol, to)?;
    let from = found.symbol.name().to_owned();
    let command = match &found.symbol {
        Symbol::Node(_) => FlowEdit::RenameNode { from, to: to.to_owned() },
        // A field that only the deployment fills is declared nowhere else.
        Symbol::Context(name) if !flow.context.declares(name) => {
            return keeps_sound(analysis, &edits, options).map(|()| edits);
        }
        Symbol::Context(_) => FlowEdit::RenameContext { from, to: to.to_owned() },
        Symbol::Input { node, .. } => {
            FlowEdit::RenamePort { node: node.clone(), direction: Direction::Input, from, to: to.to_owned() }
        }
        Symbol::Output { node, port } => {
            let is_error = flow.nodes.get(node).is_some_and(|node| node.error_port(port).is_some());
            let direction = if is_error { Direction::Error } else { Direction::Output };
            FlowEdit::RenamePort { node: node.clone(), direction, from, to: to.to_owned() }
        }
        Symbol::Property { .. } => return keeps_sound(analysis, &edits, options).map(|()| edits),
    };
    let request = EditRequest::new(vec![command]);
    apply(&analysis.text, &request, options).map_err(|error| error.to_string())?;
    Ok(edits)
}

/// Whether edits add no error, or the first that they add.
fn keeps_sound(analysis: &Analysis, edits: &[Edit], options: &CheckOptions) -> Result<(), String> {
    let mut text = analysis.text.clone();
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span));
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.replacement);
    }
    let errors = |found: &[Diagnostic]| found.iter().filter(|found| found.is_error()).count();
    let found = crate::load(SourceId(0), &text, options).diagnostics;
    if errors(&found) <= errors(&analysis.diagnostics) {
        return Ok(());
    }
    let known: Vec<&str> = analysis.diagnostics.iter().map(|known| known.message.as_str()).collect();
    let added = found.iter().find(|found| found.is_error() && !known.contains(&found.message.as_str()));
    Err(added.map_or_else(
        || "it would add an error".to_owned(),
        |added| format!("it would add an error: {}", added.message),
    ))
}

fn is_word(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

/// Whether the format allows the name for a node, a port or a context field.
#[must_use]
pub fn valid_name(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'_')
}
