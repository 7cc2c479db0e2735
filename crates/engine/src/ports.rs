//! Port semantics: an edge carries a value from an output port to an input port.
//!
//! A node starts once every edge into it is settled and every required port has a value. Two values at one port are a
//! failure that names both edges.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use crate::failure::{Failure, FailureKind};
use crate::frame::Frame;
use crate::graph::{EngineEdge, EngineNode, Graph, OUTPUT};
use crate::routes::Signal;
use crate::semantics::{Readiness, Semantics};
use crate::size::CopyLimit;

#[derive(Debug)]
pub(crate) struct Ports;

impl Semantics for Ports {
    fn reads_references(&self) -> bool {
        false
    }

    fn result_name(&self) -> Option<&'static str> {
        None
    }

    fn readiness(&self, graph: &Graph, frame: &Frame, node: &EngineNode) -> Readiness {
        match gather(graph, frame, node) {
            Err(failure) => Readiness::Fail(failure),
            Ok((_, Some(reason))) => Readiness::Skip(reason),
            Ok((inputs, None)) => Readiness::Ready(inputs),
        }
    }

    fn brought(&self, graph: &Graph, frame: &Frame, node: &EngineNode) -> Option<Object> {
        gather(graph, frame, node).ok().map(|(inputs, _)| inputs)
    }

    fn carried(
        &self,
        _: &Graph,
        edge: &EngineEdge,
        source: &EngineNode,
        outputs: &Object,
        room: &mut CopyLimit,
    ) -> Result<Signal, Failure> {
        let port = edge.from_port.as_deref().unwrap_or_default();
        let Some(value) = outputs.get(port) else {
            return Ok(Signal::Inactive(format!("`{}.{port}` has no value", source.id)));
        };
        room.carry(value, || format!("the edges out of `{}` carry", source.id))?;
        Ok(Signal::Active(value.clone()))
    }

    fn carried_error(&self, error: Value) -> Signal {
        Signal::Active(error)
    }

    /// Later steps see values at ports only.
    fn named_result(&self, _: &EngineNode, _: &Result<Object, Failure>, _: u32) -> Option<Value> {
        None
    }

    /// The whole value that reached `_output`, or an object of the fields that did.
    fn response(&self, graph: &Graph, frame: &Frame) -> Result<Value, Failure> {
        let Some(output) = graph.index(OUTPUT).and_then(|index| graph.nodes.get(index)) else {
            return Ok(Value::Null);
        };
        let mut room = CopyLimit::of_edges();
        let whole: Vec<usize> = graph.feeders(output, None).collect();
        if !whole.is_empty()
            && let Some(value) = sole_value(graph, frame, &whole, OUTPUT, &mut room)?
        {
            return Ok(value);
        }
        let mut fields = Object::new();
        for edge in output.incoming.iter().filter_map(|edge| graph.edges.get(*edge)) {
            let Some(field) = edge.to_port.as_deref().filter(|field| !fields.contains_key(*field)) else {
                continue;
            };
            let feeders: Vec<usize> = graph.feeders(output, Some(field)).collect();
            let target = format!("{OUTPUT}.{field}");
            if let Some(value) = sole_value(graph, frame, &feeders, &target, &mut room)? {
                fields.insert(field.to_owned(), value);
            }
        }
        if !fields.is_empty() {
            return Ok(Value::Object(fields));
        }
        let reasons = output.incoming.iter().filter_map(|edge| match frame.signal(*edge) {
            Some(Signal::Inactive(reason)) => Some(format!("{}: {reason}", graph.edge_name(*edge))),
            _ => None,
        });
        let reasons: Vec<String> = reasons.collect();
        let why =
            if reasons.is_empty() { "nothing leads to `_output`".to_owned() } else { reasons.join("; ") };
        let message = format!("no output was produced: {why}");
        Err(Failure::new(codes::OUTPUT_NOT_REACHED, FailureKind::Value, message))
    }
}

/// The values at a node's input ports, and why a required one is absent.
fn gather(graph: &Graph, frame: &Frame, node: &EngineNode) -> Result<(Object, Option<String>), Failure> {
    let mut inputs = Object::with_capacity(node.data.inputs.len());
    let (mut missing, mut room) = (None, CopyLimit::of_edges());
    for port in &node.data.inputs {
        let feeders: Vec<usize> = graph.feeders(node, Some(&port.name)).collect();
        let target = format!("{}.{}", node.id, port.name);
        match sole_value(graph, frame, &feeders, &target, &mut room)? {
            Some(value) => {
                inputs.insert(port.name.clone(), value);
            }
            None if port.optional => {}
            None => {
                let reasons = feeders.iter().filter_map(|edge| match frame.signal(*edge) {
                    Some(Signal::Inactive(reason)) => Some(reason.as_str()),
                    _ => None,
                });
                let reasons: Vec<&str> = reasons.collect();
                let why = if reasons.is_empty() { "nothing feeds it".to_owned() } else { reasons.join("; ") };
                missing.get_or_insert(format!("input `{}` is absent: {why}", port.name));
            }
        }
    }
    Ok((inputs, missing))
}

/// The one value that edges bring.
fn sole_value(
    graph: &Graph,
    frame: &Frame,
    feeders: &[usize],
    target: &str,
    room: &mut CopyLimit,
) -> Result<Option<Value>, Failure> {
    let mut found: Option<(usize, &Value)> = None;
    for edge in feeders {
        let Some(Signal::Active(value)) = frame.signal(*edge) else { continue };
        if let Some((first, _)) = found {
            let names = [first, *edge].map(|edge| graph.edge_name(edge)).join(" and ");
            let message = format!("`{target}` received two values: {names}");
            let origin = graph.edges.get(*edge).and_then(|edge| edge.origin);
            return Err(Failure::new(codes::MULTIPLE_VALUES, FailureKind::Value, message).at(origin));
        }
        found = Some((*edge, value));
    }
    let Some((_, value)) = found else { return Ok(None) };
    room.carry(value, || format!("the values at `{target}` take"))?;
    Ok(Some(value.clone()))
}
