//! What each command makes of a flow.

mod context;
mod edges;
mod fields;
mod nodes;
mod ports;
mod prompts;
mod recipes;
mod rename;

use stave_canon::{Object, Value};
use stave_diag::Edit;

use super::state::{State, rewrite};
use super::{EditError, FlowEdit};

/// The edits of the text that carry a command out.
pub(super) fn change(state: &State, command: &FlowEdit) -> Result<Vec<Edit>, EditError> {
    match command {
        FlowEdit::RenameNode { from, to } => return rename::node(state, from, to),
        FlowEdit::RenamePort { node, direction, from, to } => {
            return rename::port(state, node, *direction, from, to);
        }
        FlowEdit::RenameContext { from, to } => return rename::context(state, from, to),
        FlowEdit::ReplaceText { at, remove, insert } => {
            return fields::replace_text(state, *at, remove, insert);
        }
        _ => {}
    }
    let mut flow = state.value();
    match command {
        FlowEdit::AddNode { id, node, after } => nodes::add(&mut flow, id, node, after.as_deref())?,
        FlowEdit::RemoveNode { id } => nodes::remove(state, &mut flow, id)?,
        FlowEdit::Connect { from, to, condition, otherwise, transform } => {
            let activation = edges::Activation { condition: condition.as_deref(), otherwise: *otherwise };
            edges::connect(state, &mut flow, from, to, activation, transform.as_deref())?;
        }
        FlowEdit::Disconnect { from, to } => edges::disconnect(state, &mut flow, from, to)?,
        FlowEdit::Set { path, value } => fields::set(&mut flow, path, value)?,
        FlowEdit::Unset { path } => fields::unset(&mut flow, path)?,
        FlowEdit::AddPort { node, direction, port } => ports::add(&mut flow, node, *direction, port)?,
        FlowEdit::RemovePort { node, direction, name } => {
            ports::remove(state, &mut flow, node, *direction, name)?;
        }
        FlowEdit::AddContext { field, optional } => context::add(&mut flow, field, *optional)?,
        FlowEdit::RemoveContext { field } => context::remove(&mut flow, field)?,
        FlowEdit::SetPrompt { .. } => prompts::set(&mut flow, command)?,
        FlowEdit::AddTool { node, tool } => prompts::add_tool(&mut flow, node, tool)?,
        FlowEdit::RemoveTool { node, name } => prompts::remove_tool(&mut flow, node, name)?,
        FlowEdit::AddErrorHandling { node, port, handler } => {
            recipes::error_handling(state, &mut flow, node, port.as_deref(), handler.as_deref())?;
        }
        FlowEdit::AddCaching { node, ttl_seconds, key } => {
            recipes::caching(state, &mut flow, node, *ttl_seconds, key.as_deref())?;
        }
        FlowEdit::SetPosition { node, x, y } => {
            let position = Value::from_iter([("x", x.clone()), ("y", y.clone())]);
            node_mut(&mut flow, node)?.insert("position".to_owned(), position);
        }
        FlowEdit::RenameNode { .. }
        | FlowEdit::RenamePort { .. }
        | FlowEdit::RenameContext { .. }
        | FlowEdit::ReplaceText { .. } => {}
    }
    rewrite(state, &flow, None)
}

/// The fields of the document.
fn root(flow: &mut Value) -> Result<&mut Object, EditError> {
    flow.as_object_mut().ok_or_else(|| EditError::invalid("the flow is not a mapping"))
}

/// The nodes by id; an absent or empty `nodes` becomes a mapping.
fn nodes_mut(flow: &mut Value) -> Result<&mut Object, EditError> {
    let nodes = root(flow)?.entry("nodes".to_owned()).or_default();
    if nodes.is_null() {
        *nodes = Value::Object(Object::new());
    }
    nodes.as_object_mut().ok_or_else(|| EditError::invalid("`nodes` is not a mapping"))
}

fn node_mut<'flow>(flow: &'flow mut Value, id: &str) -> Result<&'flow mut Object, EditError> {
    let nodes = nodes_mut(flow)?;
    if !nodes.contains_key(id) {
        return Err(EditError::unknown("node", id, nodes.keys().map(String::as_str)));
    }
    nodes
        .get_mut(id)
        .and_then(Value::as_object_mut)
        .ok_or_else(|| EditError::invalid(format!("node `{id}` is not a mapping")))
}

/// A list of an object; an absent one is made.
fn list_mut<'flow>(owner: &'flow mut Object, name: &str) -> Result<&'flow mut Vec<Value>, EditError> {
    let list = owner.entry(name.to_owned()).or_default();
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    match list {
        Value::Array(items) => Ok(items),
        _ => Err(EditError::invalid(format!("`{name}` is not a list"))),
    }
}

fn edges_mut(flow: &mut Value) -> Result<&mut Vec<Value>, EditError> {
    list_mut(root(flow)?, "edges")
}

/// The name of a port, a tool or an item like them.
fn name_of(item: &Value) -> Option<&str> {
    item.get("name").and_then(Value::as_str)
}
