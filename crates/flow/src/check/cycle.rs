//! Edges never lead back to where they began, whatever their conditions and whichever port they leave.

use std::collections::{HashMap, HashSet};

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::subject::Subject;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for group in groups(subject) {
        // The first node of the file begins the path.
        let first = subject.nodes().map(|node| node.id.as_str()).find(|id| group.contains(id));
        if let Some(path) = first.and_then(|first| shortest_cycle(subject, first)) {
            diagnostics.push(report(subject, &path));
        }
    }
}

/// The sets of nodes that all lead to one another, by the two walks of Kosaraju.
fn groups<'flow>(subject: &Subject<'flow>) -> Vec<HashSet<&'flow str>> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut finished: Vec<&str> = Vec::new();
    for node in subject.nodes() {
        let mut open = vec![(node.id.as_str(), false)];
        while let Some((id, done)) = open.pop() {
            if done {
                finished.push(id);
            } else if seen.insert(id) {
                open.push((id, true));
                let next = subject.followers.get(id).into_iter().flatten();
                open.extend(next.map(|next| (*next, false)));
            }
        }
    }
    let mut groups = Vec::new();
    let mut taken: HashSet<&str> = HashSet::new();
    for start in finished.into_iter().rev() {
        let mut group = HashSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if taken.insert(id) {
                group.insert(id);
                open.extend(subject.leaders.get(id).into_iter().flatten());
            }
        }
        let feeds_itself = subject.followers.get(start).is_some_and(|next| next.contains(&start));
        if group.len() > 1 || (group.len() == 1 && feeds_itself) {
            groups.push(group);
        }
    }
    groups
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
    // The last edge in the file is the likeliest to have closed the circle.
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
