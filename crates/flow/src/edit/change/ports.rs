//! Ports come and go.

use stave_canon::Value;

use super::edges::{self, destination_name, origin_name};
use super::{EditError, State, edges_mut, list_mut, name_of, node_mut};
use crate::edit::Direction;

pub(super) fn add(flow: &mut Value, node: &str, direction: Direction, port: &Value) -> Result<(), EditError> {
    let Some(name) = name_of(port) else {
        return Err(EditError::invalid("a port is a mapping with a `name` and a `type`"));
    };
    let owner = node_mut(flow, node)?;
    let list = match direction {
        Direction::Input => "inputs",
        Direction::Output => "outputs",
        Direction::Error => {
            if owner.get("error").is_some_and(|error| !error.is_null()) {
                return Err(EditError::Exists { what: format!("an error port of node `{node}`") });
            }
            let after = ["outputs", "inputs", "type"].iter().find_map(|key| owner.get_index_of(*key));
            let index = after.map_or(owner.len(), |index| index + 1);
            owner.shift_remove("error");
            owner.shift_insert(index.min(owner.len()), "error".to_owned(), port.clone());
            return Ok(());
        }
    };
    let ports = list_mut(owner, list)?;
    if ports.iter().any(|port| name_of(port) == Some(name)) {
        return Err(EditError::Exists { what: format!("a port `{name}` in `{list}` of node `{node}`") });
    }
    ports.push(port.clone());
    Ok(())
}

/// Removes a port with the edges at it.
pub(super) fn remove(
    state: &State,
    flow: &mut Value,
    node: &str,
    direction: Direction,
    name: &str,
) -> Result<(), EditError> {
    let whole = format!("{node}.{name}");
    let touched = edges::indices(state, |edge| match direction {
        Direction::Input => edge.to.as_ref().is_some_and(|end| destination_name(&state.flow, end) == whole),
        _ => edge.from.as_ref().is_some_and(|end| origin_name(&state.flow, end) == whole),
    });
    let owner = node_mut(flow, node)?;
    let list = match direction {
        Direction::Input => "inputs",
        Direction::Output => "outputs",
        Direction::Error => {
            if owner.get("error").and_then(name_of) != Some(name) {
                return Err(EditError::unknown("error port", name, owner.get("error").and_then(name_of)));
            }
            owner.shift_remove("error");
            edges::remove(edges_mut(flow)?, &touched);
            return Ok(());
        }
    };
    let ports = list_mut(owner, list)?;
    let Some(index) = ports.iter().position(|port| name_of(port) == Some(name)) else {
        return Err(EditError::unknown("port", name, ports.iter().filter_map(name_of)));
    };
    ports.remove(index);
    edges::remove(edges_mut(flow)?, &touched);
    Ok(())
}
