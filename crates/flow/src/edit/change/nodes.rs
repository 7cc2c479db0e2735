//! NodeMap come and go.

use stave_canon::{Object, Value};

use super::{EditError, State, edges, edges_mut, list_mut, nodes_mut};

pub(super) fn add(flow: &mut Value, id: &str, node: &Value, after: Option<&str>) -> Result<(), EditError> {
    let nodes = nodes_mut(flow)?;
    if nodes.contains_key(id) {
        return Err(EditError::Exists { what: format!("a node `{id}`") });
    }
    if node.as_object().is_none() {
        return Err(EditError::invalid(format!("a node is a mapping, not {}", node.kind())));
    }
    let index = match after {
        None => nodes.len(),
        Some(after) => match nodes.get_index_of(after) {
            Some(index) => index + 1,
            None => return Err(EditError::unknown("node", after, nodes.keys().map(String::as_str))),
        },
    };
    nodes.shift_insert(index, id.to_owned(), node.clone());
    Ok(())
}

/// Removes a node with its edges and the tools that lead to it.
pub(super) fn remove(state: &State, flow: &mut Value, id: &str) -> Result<(), EditError> {
    let nodes = nodes_mut(flow)?;
    if nodes.shift_remove(id).is_none() {
        return Err(EditError::unknown("node", id, nodes.keys().map(String::as_str)));
    }
    for node in nodes.values_mut().filter_map(Value::as_object_mut) {
        remove_tools(node, id)?;
    }
    let touched = edges::indices(state, |edge| {
        let ends = [edge.from.as_ref(), edge.to.as_ref()];
        ends.into_iter().flatten().any(|end| end.node.value == id)
    });
    edges::remove(edges_mut(flow)?, &touched);
    Ok(())
}

fn remove_tools(node: &mut Object, target: &str) -> Result<(), EditError> {
    let Some(prompt) = node.get_mut("prompt").and_then(Value::as_object_mut) else { return Ok(()) };
    if !matches!(prompt.get("tools"), Some(Value::Array(_))) {
        return Ok(());
    }
    let tools = list_mut(prompt, "tools")?;
    let before = tools.len();
    tools.retain(|tool| tool.get("maps_to").and_then(Value::as_str) != Some(target));
    if tools.is_empty() && before > 0 {
        prompt.shift_remove("tools");
    }
    Ok(())
}
