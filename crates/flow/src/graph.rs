//! Edges with their ends found: which port of which node each one leaves and enters.

use std::collections::HashSet;

use crate::model::{Context, Edge, Endpoint, Flow, INPUT, Node, OUTPUT, Port, ReadableList, Text};
use stave_diag::Span;

/// Where an edge begins.
#[derive(Debug, Clone, Copy)]
pub enum EdgeSource<'flow> {
    /// A field of the request.
    Request(&'flow str),
    Output(&'flow Node, &'flow Port),
    /// The error port of a node.
    Error(&'flow Node, &'flow Port),
}

/// Where an edge ends.
#[derive(Debug, Clone, Copy)]
pub enum EdgeTarget<'flow> {
    /// The whole response.
    Response,
    /// One field of the response.
    ResponseField(&'flow str),
    Input(&'flow Node, &'flow Port),
}

/// An edge whose two ends exist.
#[derive(Debug, Clone, Copy)]
pub struct Connected<'flow> {
    pub edge: &'flow Edge,
    pub origin: EdgeSource<'flow>,
    pub destination: EdgeTarget<'flow>,
}

/// Why an end of an edge names nothing.
#[derive(Debug, Clone)]
pub enum Unresolved<'flow> {
    UnknownNode,
    /// A name with a leading underscore that is no pseudo-node.
    UnknownPseudoNode,
    /// `_output` as an origin.
    OutputAsOrigin,
    /// `_input` as a destination.
    InputAsDestination,
    /// `_input.x` where the context declares no `x`.
    UndeclaredField,
    UnknownPort(&'flow Node),
    /// No port was named and there is none to choose.
    NoDefault(Option<&'flow Node>),
    /// No port was named and several could be meant.
    AmbiguousDefault(Vec<&'flow str>),
    /// What the end names cannot be read, which was reported at its place.
    Unreadable,
}

impl<'flow> EdgeSource<'flow> {
    /// The node that the edge leaves; `None` for the request.
    #[must_use]
    pub fn node(&self) -> Option<&'flow Node> {
        match self {
            EdgeSource::Request(_) => None,
            EdgeSource::Output(node, _) | EdgeSource::Error(node, _) => Some(node),
        }
    }

    #[must_use]
    pub fn port(&self) -> Option<&'flow Port> {
        match self {
            EdgeSource::Request(_) => None,
            EdgeSource::Output(_, port) | EdgeSource::Error(_, port) => Some(port),
        }
    }
}

impl<'flow> EdgeTarget<'flow> {
    /// The node that the edge enters; `None` for the response.
    #[must_use]
    pub fn node(&self) -> Option<&'flow Node> {
        if let EdgeTarget::Input(node, _) = self { Some(node) } else { None }
    }

    #[must_use]
    pub fn port(&self) -> Option<&'flow Port> {
        if let EdgeTarget::Input(_, port) = self { Some(port) } else { None }
    }
}

/// The edges whose two ends exist, in file order.
#[must_use]
pub fn connected(flow: &Flow) -> Vec<Connected<'_>> {
    flow.edges
        .iter()
        .filter_map(|edge| {
            let origin = origin(flow, edge.from.as_ref()?).ok()?;
            let destination = destination(flow, edge.to.as_ref()?).ok()?;
            Some(Connected { edge, origin, destination })
        })
        .collect()
}

/// The nodes that run only when another one calls them, as a tool or for the items of a list: one does, and edges do
/// not fill all of their required inputs. Their results go to the caller. A called node that nothing joins to the rest
/// of the flow runs by calls only, too.
#[must_use]
pub fn run_only_when_called<'flow>(flow: &'flow Flow, edges: &[Connected<'flow>]) -> HashSet<&'flow str> {
    let called: HashSet<&str> = flow.nodes.values().flat_map(Node::called).map(Text::as_str).collect();
    let mut joined: HashSet<&str> = HashSet::new();
    let mut fed: HashSet<(&str, &str)> = HashSet::new();
    for edge in edges {
        joined.extend(edge.origin.node().map(|node| node.id.as_str()));
        if let (Some(node), Some(port)) = (edge.destination.node(), edge.destination.port()) {
            joined.insert(node.id.as_str());
            fed.insert((node.id.as_str(), port.name.as_str()));
        }
    }
    let runs_by_calls = |node: &&Node| {
        let id = node.id.as_str();
        let is_fed = |port: &Port| fed.contains(&(id, port.name.as_str()));
        called.contains(id)
            && (!joined.contains(id) || !node.inputs.iter().filter(|port| port.is_required()).all(is_fed))
    };
    flow.nodes.values().filter(runs_by_calls).map(|node| node.id.as_str()).collect()
}

/// What the `from` of an edge names.
pub fn origin<'flow>(
    flow: &'flow Flow,
    end: &'flow Endpoint,
) -> Result<EdgeSource<'flow>, Unresolved<'flow>> {
    match end.node.as_str() {
        INPUT => request_field(&flow.context, end),
        OUTPUT => Err(Unresolved::OutputAsOrigin),
        name => {
            let node = node(flow, name)?;
            match &end.port {
                Some(port) => node
                    .output(port)
                    .map(|port| EdgeSource::Output(node, port))
                    .or_else(|| node.error_port(port).map(|port| EdgeSource::Error(node, port)))
                    .ok_or(match node.outputs.is_complete() && !node.error.is_unreadable() {
                        true => Unresolved::UnknownPort(node),
                        false => Unresolved::Unreadable,
                    }),
                None => default_port(node, &node.outputs).map(|port| EdgeSource::Output(node, port)),
            }
        }
    }
}

/// What the `to` of an edge names.
pub fn destination<'flow>(
    flow: &'flow Flow,
    end: &'flow Endpoint,
) -> Result<EdgeTarget<'flow>, Unresolved<'flow>> {
    match end.node.as_str() {
        INPUT => Err(Unresolved::InputAsDestination),
        OUTPUT => {
            Ok(end.port.as_ref().map_or(EdgeTarget::Response, |port| EdgeTarget::ResponseField(&port.value)))
        }
        name => {
            let node = node(flow, name)?;
            match &end.port {
                Some(port) => node.input(port).map(|port| EdgeTarget::Input(node, port)).ok_or(
                    match node.inputs.is_complete() {
                        true => Unresolved::UnknownPort(node),
                        false => Unresolved::Unreadable,
                    },
                ),
                None => default_port(node, &node.inputs).map(|port| EdgeTarget::Input(node, port)),
            }
        }
    }
}

fn node<'flow>(flow: &'flow Flow, name: &str) -> Result<&'flow Node, Unresolved<'flow>> {
    flow.nodes.get(name).ok_or(if flow.nodes.is_unreadable(name) {
        Unresolved::Unreadable
    } else if name.starts_with('_') {
        Unresolved::UnknownPseudoNode
    } else {
        Unresolved::UnknownNode
    })
}

fn request_field<'flow>(
    context: &'flow Context,
    end: &'flow Endpoint,
) -> Result<EdgeSource<'flow>, Unresolved<'flow>> {
    if let Some(port) = &end.port {
        let declared = context.fields().find(|field| field.as_str() == port.value);
        return declared.map(|field| EdgeSource::Request(field.as_str())).ok_or(
            match context.is_complete() {
                true => Unresolved::UndeclaredField,
                false => Unresolved::Unreadable,
            },
        );
    }
    if !context.is_complete() {
        return Err(Unresolved::Unreadable);
    }
    let sole = |fields: &'flow [Text]| match fields {
        [only] => Some(EdgeSource::Request(only.as_str())),
        _ => None,
    };
    let names: Vec<&str> = context.fields().map(Text::as_str).collect();
    match names.as_slice() {
        [] => Err(Unresolved::NoDefault(None)),
        [only] => Ok(EdgeSource::Request(only)),
        _ => sole(&context.requires).ok_or(Unresolved::AmbiguousDefault(names)),
    }
}

/// The sole port, or the sole required one. Never merely the first, and never the error port.
fn default_port<'flow>(
    node: &'flow Node,
    ports: &'flow ReadableList<Port>,
) -> Result<&'flow Port, Unresolved<'flow>> {
    if !ports.is_complete() {
        return Err(Unresolved::Unreadable);
    }
    let mut required = ports.iter().filter(|port| !port.is_optional());
    match (&**ports, required.next(), required.next()) {
        ([], _, _) => Err(Unresolved::NoDefault(Some(node))),
        ([only], _, _) => Ok(only),
        (_, Some(only), None) => Ok(only),
        // A port whose mark cannot be read may be the optional one.
        _ if ports.iter().any(|port| port.optional.is_unreadable()) => Err(Unresolved::Unreadable),
        _ => Err(Unresolved::AmbiguousDefault(ports.iter().map(|port| port.name.as_str()).collect())),
    }
}

/// The place of the part of an end that a fault is about: the node's name or the port's.
#[must_use]
pub fn fault_span(end: &Endpoint, fault: &Unresolved<'_>) -> Span {
    match (fault, &end.port) {
        (Unresolved::UnknownPort(_) | Unresolved::UndeclaredField, Some(port)) => port.span,
        _ => end.node.span,
    }
}

/// The node by which a node changes something outside the flow: itself, or one that it runs, at any depth. The first one
/// in the order of the calls; none when nothing is changed.
#[must_use]
pub fn effect<'flow>(flow: &'flow Flow, node: &'flow Node) -> Option<&'flow Node> {
    let mut seen = HashSet::new();
    let mut waiting = vec![node];
    while let Some(node) = waiting.pop() {
        if !seen.insert(node.id.as_str()) {
            continue;
        }
        if node.has_effects() {
            return Some(node);
        }
        let called: Vec<&Node> = node.called().filter_map(|id| flow.nodes.get(id.as_str())).collect();
        waiting.extend(called.into_iter().rev());
    }
    None
}
