//! Edges: default ports resolved, casts decided, `on` taken from the kind of port the edge leaves.

use stave_exec::dataflow::{Cast, EdgeData};
use stave_exec::{DocumentEdge, On};
use stave_flow::graph::{Connected, EdgeSource, EdgeTarget};
use stave_flow::model::{INPUT, OUTPUT, Text};
use stave_flow::types::{Connection, connection};

use super::Lowering;

impl Lowering<'_> {
    pub(super) fn edge(&self, connected: &Connected<'_>) -> DocumentEdge {
        let (from, from_port, on) = match connected.origin {
            EdgeSource::Request(field) => (INPUT, field, On::Success),
            EdgeSource::Output(node, port) => (node.id.as_str(), port.name.as_str(), On::Success),
            EdgeSource::Error(node, port) => (node.id.as_str(), port.name.as_str(), On::Failure),
        };
        let (to, to_port) = match connected.destination {
            EdgeTarget::Response => (OUTPUT, None),
            EdgeTarget::ResponseField(field) => (OUTPUT, Some(field)),
            EdgeTarget::Input(node, port) => (node.id.as_str(), Some(port.name.as_str())),
        };
        let data = EdgeData {
            from_port: Some(from_port.to_owned()),
            to_port: to_port.map(str::to_owned),
            case: None,
            condition: connected.edge.condition.as_ref().map(|text| text.as_str().to_owned()),
            otherwise: connected.edge.otherwise.is_some(),
            transform: connected.edge.transform.as_ref().map(|text: &Text| text.as_str().to_owned()),
            cast: cast(connected),
            origin: self.origin(connected.edge.span),
        };
        DocumentEdge { from: from.to_owned(), to: to.to_owned(), on, extra: data.write() }
    }
}

/// The cast of the type table. A transform's result is checked at the target instead, and so is a field
/// of the request, whose type is the target's.
fn cast(connected: &Connected<'_>) -> Option<Cast> {
    if connected.edge.transform.is_read() {
        return None;
    }
    let from = connected.origin.port()?.port_type?.value;
    let to = connected.destination.port()?.port_type?.value;
    match connection(from, to)? {
        Connection::Same => None,
        Connection::CastToString => Some(Cast::Text),
        Connection::SingleRow => Some(Cast::SingleRow),
    }
}
