//! Renaming, at every place that names the thing.

use stave_diag::{Edit, Span};

use super::{EditError, State};
use crate::edit::Direction;
use crate::model::{DEFAULT_STATE_KEY, Node};
use crate::service::{Symbol, rename_edits};

pub(super) fn node(state: &State, from: &str, to: &str) -> Result<Vec<Edit>, EditError> {
    let nodes = &state.flow.nodes;
    let Some(node) = nodes.get(from) else {
        return Err(EditError::unknown("node", from, nodes.keys().map(String::as_str)));
    };
    if from != to && nodes.contains_key(to) {
        return Err(EditError::Exists { what: format!("a node `{to}`") });
    }
    let mut edits = edits(state, &Symbol::Node(from.to_owned()), to)?;
    edits.extend(shared_records(state, node).map(|span| Edit { span, replacement: to.to_owned() }));
    Ok(edits)
}

/// State keys of other nodes that are the id of this one, whose own record is named by its id.
fn shared_records<'state>(state: &'state State, node: &'state Node) -> impl Iterator<Item = Span> + 'state {
    let by_id = node.state.as_ref().is_some_and(|state| state.key_template() == DEFAULT_STATE_KEY);
    let keys = state.flow.nodes.values().filter_map(|node| node.state.as_ref()?.key.as_ref());
    let same = keys.filter(move |key| by_id && key.as_str() == node.id.value);
    same.map(|key| key.embedded.whole())
}

pub(super) fn port(
    state: &State,
    node: &str,
    direction: Direction,
    from: &str,
    to: &str,
) -> Result<Vec<Edit>, EditError> {
    let Some(owner) = state.flow.nodes.get(node) else {
        return Err(EditError::unknown("node", node, state.flow.nodes.keys().map(String::as_str)));
    };
    let ports: Vec<&str> = match direction {
        Direction::Input => owner.inputs.iter().map(|port| port.name.as_str()).collect(),
        Direction::Output => owner.outputs.iter().map(|port| port.name.as_str()).collect(),
        Direction::Error => owner.error.iter().map(|port| port.name.as_str()).collect(),
    };
    if !ports.contains(&from) {
        return Err(EditError::unknown("port", from, ports));
    }
    if from != to && ports.contains(&to) {
        return Err(EditError::Exists { what: format!("a port `{to}` of node `{node}`") });
    }
    let (node, port) = (node.to_owned(), from.to_owned());
    let symbol = match direction {
        Direction::Input => Symbol::Input { node, port },
        _ => Symbol::Output { node, port },
    };
    edits(state, &symbol, to)
}

pub(super) fn context(state: &State, from: &str, to: &str) -> Result<Vec<Edit>, EditError> {
    let context = &state.flow.context;
    if !context.declares(from) {
        let known: Vec<&str> = context.fields().map(crate::model::Text::as_str).collect();
        return Err(EditError::unknown("context field", from, known));
    }
    if from != to && context.declares(to) {
        return Err(EditError::Exists { what: format!("a context field `{to}`") });
    }
    edits(state, &Symbol::Context(from.to_owned()), to)
}

fn edits(state: &State, symbol: &Symbol, to: &str) -> Result<Vec<Edit>, EditError> {
    rename_edits(&state.flow, &state.text, symbol, to).map_err(EditError::invalid)
}
