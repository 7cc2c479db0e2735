//! Edges come and go.

use stave_canon::Value;
use stave_diag::{SourceId, Span};

use super::{EditError, State, edges_mut};
use crate::graph::{self, EdgeSource, EdgeTarget};
use crate::model::{Edge, Endpoint, Flow, INPUT, OUTPUT, Spanned};

/// When a new edge is active.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activation<'edit> {
    pub(super) condition: Option<&'edit str>,
    pub(super) otherwise: bool,
}

pub(super) fn connect(
    state: &State,
    flow: &mut Value,
    from: &str,
    to: &str,
    activation: Activation<'_>,
    transform: Option<&str>,
) -> Result<(), EditError> {
    let Activation { condition, otherwise } = activation;
    if !matching(state, from, to).is_empty() && condition.is_none() && !otherwise {
        return Err(EditError::Exists { what: format!("an edge from `{from}` to `{to}`") });
    }
    let edges = edges_mut(flow)?;
    let mut edge = vec![("from", Value::from(from)), ("to", Value::from(to))];
    edge.extend(condition.map(|text| ("condition", Value::from(text))));
    edge.extend(otherwise.then_some(("else", Value::Bool(true))));
    edge.extend(transform.map(|text| ("transform", Value::from(text))));
    // Edges into one node stay together.
    let target = to.split('.').next();
    let beside = edges.iter().rposition(|edge| {
        let end = edge.get("to").and_then(Value::as_str);
        end.and_then(|end| end.split('.').next()) == target
    });
    let index = beside.map_or(edges.len(), |index| index + 1);
    edges.insert(index, Value::from_iter(edge));
    Ok(())
}

pub(super) fn disconnect(state: &State, flow: &mut Value, from: &str, to: &str) -> Result<(), EditError> {
    let found = matching(state, from, to);
    if found.is_empty() {
        return Err(EditError::Unknown { what: format!("edge from `{from}` to `{to}`"), help: None });
    }
    remove(edges_mut(flow)?, &found);
    Ok(())
}

/// The places in `edges` of the edges that fit.
pub(super) fn indices(state: &State, fits: impl Fn(&Edge) -> bool) -> Vec<usize> {
    state.flow.edges.iter().filter(|edge| fits(edge)).map(|edge| edge.index).collect()
}

pub(super) fn remove(edges: &mut Vec<Value>, indices: &[usize]) {
    let mut index = 0;
    edges.retain(|_| {
        index += 1;
        !indices.contains(&(index - 1))
    });
}

/// Edges between these ends, whether they name their ports or not.
fn matching(state: &State, from: &str, to: &str) -> Vec<usize> {
    let flow = &state.flow;
    let wanted = (origin_name(flow, &endpoint(from)), destination_name(flow, &endpoint(to)));
    indices(state, |edge| {
        let (Some(from), Some(to)) = (&edge.from, &edge.to) else { return false };
        (origin_name(flow, from), destination_name(flow, to)) == wanted
    })
}

/// The port that an origin names, written out.
pub(in crate::edit) fn origin_name(flow: &Flow, end: &Endpoint) -> String {
    match graph::origin(flow, end) {
        Ok(EdgeSource::Request(field)) => format!("{INPUT}.{field}"),
        Ok(EdgeSource::Output(node, port) | EdgeSource::Error(node, port)) => {
            format!("{}.{}", node.id.value, port.name.as_str())
        }
        Err(_) => end.to_string(),
    }
}

/// The port that a destination names, written out.
pub(in crate::edit) fn destination_name(flow: &Flow, end: &Endpoint) -> String {
    match graph::destination(flow, end) {
        Ok(EdgeTarget::Response) => OUTPUT.to_owned(),
        Ok(EdgeTarget::ResponseField(field)) => format!("{OUTPUT}.{field}"),
        Ok(EdgeTarget::Input(node, port)) => format!("{}.{}", node.id.value, port.name.as_str()),
        Err(_) => end.to_string(),
    }
}

/// An end that is in no text.
pub(in crate::edit) fn endpoint(text: &str) -> Endpoint {
    let span = Span::at(SourceId(0), 0);
    let (node, port) = text.split_once('.').map_or((text, None), |(node, port)| (node, Some(port)));
    let spanned = |name: &str| Spanned::new(name.to_owned(), span);
    Endpoint { span, node: spanned(node), port: port.map(spanned) }
}
