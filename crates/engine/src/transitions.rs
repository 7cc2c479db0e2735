//! Transition semantics: workflows, whose nodes have no ports.
//!
//! An edge carries nothing. It is taken when its source ended the way `on` says and, out of a `switch`, when its case
//! was chosen. A node starts once every edge into it is settled and one of them is taken; a node that no edge leads
//! to starts at once. Invariant: what a node sees follows from the document and the request alone, because it sees the
//! results of the steps before it and of no other.

use std::borrow::Cow;
use std::cell::RefCell;

use stave_canon::{Object, Value};
use stave_operations::{FINISH, SWITCH};

use crate::failure::Failure;
use crate::frame::Frame;
use crate::graph::{EngineEdge, EngineNode, Graph};
use crate::references::{self, ERROR, Reference};
use crate::routes::Signal;
use crate::semantics::{Readiness, Semantics};
use crate::size::CopyLimit;

/// The name under which a step's whole result is kept.
const RESULT: &str = "result";

#[derive(Debug)]
pub(crate) struct Transitions;

impl Semantics for Transitions {
    fn reads_references(&self) -> bool {
        true
    }

    fn result_name(&self) -> Option<&'static str> {
        Some(RESULT)
    }

    /// The arguments of a node with their references replaced, and why it never starts.
    fn readiness(&self, graph: &Graph, frame: &Frame, node: &EngineNode) -> Readiness {
        let edges = || node.incoming.iter().filter_map(|edge| Some((*edge, frame.signal(*edge)?)));
        let taken: Vec<usize> = edges()
            .filter(|(_, signal)| matches!(signal, Signal::Active(_)))
            .filter_map(|(edge, _)| Some(graph.edges.get(edge)?.from))
            .collect();
        if taken.is_empty() && !node.incoming.is_empty() {
            let reasons = edges().filter_map(|(_, signal)| match signal {
                Signal::Inactive(reason) => Some(reason.as_str()),
                Signal::Active(_) => None,
            });
            let mut reasons: Vec<&str> = reasons.collect();
            reasons.dedup();
            return Readiness::Skip(format!("no edge leads to it: {}", reasons.join("; ")));
        }
        if node.kind == FINISH.name {
            let before = taken.into_iter().filter_map(|source| {
                let id = graph.nodes.get(source)?.id.clone();
                Some((id, frame.result(source)?.clone()))
            });
            return Readiness::Ready(before.collect());
        }
        match arguments(graph, frame, node) {
            Ok(arguments) => Readiness::Ready(arguments),
            Err(failure) => Readiness::Fail(failure),
        }
    }

    fn brought(&self, graph: &Graph, frame: &Frame, node: &EngineNode) -> Option<Object> {
        match self.readiness(graph, frame, node) {
            Readiness::Ready(inputs) => Some(inputs),
            Readiness::Skip(_) => Some(Object::new()),
            Readiness::Fail(_) => None,
        }
    }

    fn carried(
        &self,
        graph: &Graph,
        edge: &EngineEdge,
        source: &EngineNode,
        outputs: &Object,
        _: &mut CopyLimit,
    ) -> Result<Signal, Failure> {
        let decided = outputs.get(RESULT).unwrap_or(&Value::Null);
        if source.kind == SWITCH.name && !is_chosen(graph, edge, decided) {
            let case = decided.get("case").and_then(Value::as_str).unwrap_or_default();
            return Ok(Signal::Inactive(format!("`{}` took the case {case:?}", source.id)));
        }
        Ok(Signal::Active(Value::Null))
    }

    fn carried_error(&self, _: Value) -> Signal {
        Signal::Active(Value::Null)
    }

    fn named_result(
        &self,
        node: &EngineNode,
        outputs: &Result<Object, Failure>,
        attempts: u32,
    ) -> Option<Value> {
        Some(match outputs {
            Ok(outputs) => outputs.get(RESULT).cloned().unwrap_or_default(),
            Err(failure) => Value::from_iter([(ERROR, failure.to_error_value(&node.id, attempts))]),
        })
    }

    /// What `finish` passed on; without one, the results of the steps after which nothing came.
    fn response(&self, graph: &Graph, frame: &Frame) -> Result<Value, Failure> {
        let is_taken = |edge: &usize| matches!(frame.signal(*edge), Some(Signal::Active(_)));
        let ended = graph.nodes.iter().enumerate().filter_map(|(index, node)| {
            let result = frame.result(index)?;
            (!node.outgoing.iter().any(is_taken)).then_some((node, result))
        });
        let mut ended: Vec<_> = ended.collect();
        if ended.iter().any(|(node, _)| node.kind == FINISH.name) {
            ended.retain(|(node, _)| node.kind == FINISH.name);
        }
        Ok(match ended.as_slice() {
            [] => Value::Null,
            [(_, sole)] => (*sole).clone(),
            several => several.iter().map(|(node, result)| (node.id.clone(), (*result).clone())).collect(),
        })
    }
}

fn arguments(graph: &Graph, frame: &Frame, node: &EngineNode) -> Result<Object, Failure> {
    let (room, too_much) = (RefCell::new(CopyLimit::of_edges()), RefCell::new(None));
    let lookup = |reference: &Reference<'_>| {
        let found = lookup(graph, frame, node, reference);
        match room.borrow_mut().carry(&found, || format!("the arguments of `{}` take", node.id)) {
            Ok(()) => found.into_owned(),
            Err(failure) => {
                too_much.borrow_mut().get_or_insert(failure);
                Value::Null
            }
        }
    };
    let arguments = node.with.iter().map(|(name, value)| (name.clone(), references::resolve(value, &lookup)));
    let arguments = arguments.collect();
    too_much.into_inner().map_or(Ok(arguments), Err)
}

/// What a reference stands for. What does not exist is null.
fn lookup<'f>(
    graph: &Graph,
    frame: &'f Frame,
    node: &EngineNode,
    reference: &Reference<'_>,
) -> Cow<'f, Value> {
    let found = match reference {
        Reference::Input(path) => references::follow(&frame.request, path),
        Reference::Step(path) => {
            let Some((id, rest)) = references::split_step(path, |id| graph.index(id).is_some()) else {
                return Cow::Owned(Value::Null);
            };
            let index = graph.index(&id).filter(|index| node.named_steps.contains(index));
            let result = index.and_then(|index| frame.result(index));
            // A step that did not run has no results, which is not the same as an absent one.
            if result.is_none() && rest.is_empty() {
                return Cow::Owned(Value::Object(Object::new()));
            }
            result.and_then(|result| references::follow(result, rest))
        }
    };
    found.map_or(Cow::Owned(Value::Null), Cow::Borrowed)
}

/// Whether an edge out of a `switch` is taken, by what the switch decided. An edge without a case is taken whatever the
/// case is, unless the mapping decided.
fn is_chosen(graph: &Graph, edge: &EngineEdge, decided: &Value) -> bool {
    match (&edge.case, decided.get("to").and_then(Value::as_str)) {
        (Some(case), _) => decided.get("case").and_then(Value::as_str) == Some(case),
        (None, None) => true,
        (None, Some(to)) => graph.nodes.get(edge.to).is_some_and(|node| node.id == to),
    }
}
