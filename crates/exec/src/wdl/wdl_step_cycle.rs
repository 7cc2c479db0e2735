//! No step waits for itself. A step waits for the steps before it and for the steps that it calls, so a step that
//! calls itself or a later step can never start.

use std::collections::HashMap;

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, SourceId, Span};

use super::tree::WdlLocation;
use super::typed_arguments;
use super::workflow::{WdlCall, Workflow, calls};
use crate::{DocumentEdge, DocumentNode, called_nodes, wait_cycle};

/// The first cycle of the graph that a workflow was lowered to.
pub(super) fn find(
    workflow: &Workflow,
    nodes: &[DocumentNode],
    edges: &[DocumentEdge],
) -> Option<Diagnostic> {
    let by_id: HashMap<&str, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.id.as_str(), index)).collect();
    let mut waits: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for edge in edges {
        let ends = by_id.get(edge.from.as_str()).zip(by_id.get(edge.to.as_str()));
        if let Some((from, waits)) = ends.and_then(|(from, to)| Some((from, waits.get_mut(*to)?))) {
            waits.push(*from);
        }
    }
    for (node, waits) in nodes.iter().zip(&mut waits) {
        let with = typed_arguments(&node.with);
        waits.extend(called_nodes(&node.kind, &with).filter_map(|id| by_id.get(id)));
    }
    let path = wait_cycle(&waits)?;
    let path: Vec<&DocumentNode> = path.into_iter().filter_map(|index| nodes.get(index)).collect();
    report(workflow, &path)
}

/// The finding at the argument that names a step on the cycle. Steps wait for later steps only by calling them, so
/// there is one.
fn report(workflow: &Workflow, path: &[&DocumentNode]) -> Option<Diagnostic> {
    let steps: HashMap<&str, &WdlCall> =
        calls(&workflow.steps).into_iter().map(|call| (call.id.as_str(), call)).collect();
    let call = path.windows(2).find_map(|pair| {
        let [caller, called] = pair else { return None };
        let with = typed_arguments(&caller.with);
        let is_call = called_nodes(&caller.kind, &with).any(|id| id == called.id);
        Some((*steps.get(caller.id.as_str())?, called.id.as_str())).filter(|_| is_call)
    });
    let (caller, called) = call?;
    let (message, help) = if caller.id == called {
        (format!("step `{called}` calls itself"), "call another step".to_owned())
    } else {
        let names: Vec<String> = path.iter().map(|node| format!("`{}`", node.id)).collect();
        let message = format!("the steps wait for one another in a cycle: {}", names.join(" → "));
        (message, format!("move step `{called}` before step `{}`, or call another step", caller.id))
    };
    let argument = caller.arguments.iter().find(|argument| ["node", "tools"].contains(&&*argument.name));
    let place = argument.map_or(caller.place, |argument| argument.place);
    let span = |place: WdlLocation| span(workflow.source, place);
    let mut diagnostic = Diagnostic::new(codes::WDL_STEP_CYCLE, span(place), message).help(help);
    for node in path.iter().skip(1).filter(|node| node.id != caller.id) {
        if let Some(step) = steps.get(node.id.as_str()) {
            diagnostic = diagnostic.label(span(step.place), "on the cycle");
        }
    }
    Some(diagnostic)
}

fn span(source: SourceId, place: WdlLocation) -> Span {
    Span::new(source, place.start, place.end)
}
