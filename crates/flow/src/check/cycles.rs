//! Edges never lead back to where they began, whatever their conditions and whichever port they leave.

use std::collections::{HashMap, HashSet};

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut reported: HashSet<&str> = HashSet::new();
    for node in subject.nodes() {
        let id = node.id.as_str();
        if reported.contains(id) {
            continue;
        }
        let Some(path) = shortest_cycle(subject, id) else { continue };
        // Everything on some cycle through this node belongs to the one report.
        let tangled = subject.nodes().map(|other| other.id.as_str()).filter(|other| {
            *other == id || (subject.leads_to(id, other, false) && subject.leads_to(other, id, false))
        });
        reported.extend(tangled);
        diagnostics.push(report(subject, &path));
    }
}

/// The node ids of a shortest way from a node back to it, the node first and last.
fn shortest_cycle<'flow>(subject: &Subject<'flow>, start: &'flow str) -> Option<Vec<&'flow str>> {
    let mut came_from: HashMap<&str, &str> = HashMap::new();
    let mut layer = vec![start];
    while !layer.is_empty() {
        let mut next_layer = Vec::new();
        for id in layer {
            for next in subject.followers.get(id).into_iter().flatten().copied() {
                if next == start {
                    let mut path = vec![start, id];
                    let mut here = id;
                    while here != start {
                        here = came_from.get(here).copied()?;
                        path.push(here);
                    }
                    path.reverse();
                    return Some(path);
                }
                if !came_from.contains_key(next) {
                    came_from.insert(next, id);
                    next_layer.push(next);
                }
            }
        }
        layer = next_layer;
    }
    None
}

fn report(subject: &Subject<'_>, path: &[&str]) -> Diagnostic {
    let spans: Vec<Span> =
        path.windows(2).filter_map(|step| edge_span(subject, step.first()?, step.last()?)).collect();
    // The edge that stands last in the file is the likeliest to have closed the circle.
    let primary = spans.iter().copied().max().unwrap_or(subject.flow.span);
    let message = match path {
        [only, _] => format!("node `{only}` feeds itself"),
        _ => format!(
            "the edges form a cycle: {}",
            path.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(" → ")
        ),
    };
    let mut diagnostic = Diagnostic::new(codes::CYCLE, primary, message)
        .help("remove one of the edges; a flow has no loops, also not with conditions");
    for span in spans.into_iter().filter(|span| *span != primary) {
        diagnostic = diagnostic.label(span, "on the cycle");
    }
    diagnostic
}

fn edge_span(subject: &Subject<'_>, from: &str, to: &str) -> Option<Span> {
    let edge = subject.edges.iter().find(|connected| {
        let ends = (connected.origin.node(), connected.destination.node());
        matches!(ends, (Some(origin), Some(target)) if origin.id.value == from && target.id.value == to)
    })?;
    edge.edge.to.as_ref().map(|end| end.span)
}
