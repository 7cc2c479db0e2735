//! At most one value arrives at a port.

use std::collections::{HashMap, HashSet};

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::graph::{Connected, EdgeSource, EdgeTarget};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let certain = certain_nodes(subject);
    let mut first: HashMap<String, &Connected<'_>> = HashMap::new();
    for connected in subject.edges.iter().filter(|connected| is_certain(connected, &certain)) {
        let place = match connected.destination {
            EdgeTarget::Response => "_output".to_owned(),
            EdgeTarget::ResponseField(field) => format!("_output.{field}"),
            EdgeTarget::Input(node, port) => format!("{}.{}", node.id.value, port.name.as_str()),
        };
        let Some(end) = &connected.edge.to else { continue };
        match first.get(&place) {
            Some(earlier) => {
                let message =
                    format!("two edges bring a value to `{place}`, and nothing chooses between them");
                let mut diagnostic = Diagnostic::new(codes::CONTESTED_PORT, end.span, message)
                    .help("add a `condition` to the edges so that one of them is active, or remove one");
                if let Some(earlier) = &earlier.edge.to {
                    diagnostic = diagnostic.label(earlier.span, "the other edge");
                }
                diagnostics.push(diagnostic);
            }
            None => {
                first.insert(place, connected);
            }
        }
    }
}

/// Whether an edge carries a value in every run that does not fail.
fn is_certain(connected: &Connected<'_>, certain: &HashSet<&str>) -> bool {
    connected.edge.condition.is_absent()
        && connected.edge.otherwise.is_none()
        && match connected.origin {
            EdgeSource::Request(_) => true,
            EdgeSource::Output(node, port) => port.is_required() && certain.contains(node.id.as_str()),
            EdgeSource::Error(..) => false,
        }
}

/// The nodes that are never skipped: each required input has an edge that is certain.
fn certain_nodes<'flow>(subject: &Subject<'flow>) -> HashSet<&'flow str> {
    let mut leaving: HashMap<&str, Vec<&Connected<'flow>>> = HashMap::new();
    let mut certain: HashSet<&str> = HashSet::new();
    // The edges that are certain as soon as their origin is, and those that are certain from the start.
    let mut open: Vec<&Connected<'flow>> = Vec::new();
    for connected in &subject.edges {
        match connected.origin.node() {
            Some(node) => leaving.entry(node.id.as_str()).or_default().push(connected),
            None => open.push(connected),
        }
    }
    let mut waiting: HashMap<&str, HashSet<&str>> = HashMap::new();
    for node in subject.nodes() {
        // An input that cannot be read may be one that decides whether the node runs.
        if !node.inputs.is_complete() || node.inputs.iter().any(|port| port.optional.is_unreadable()) {
            continue;
        }
        let required = node.inputs.iter().filter(|port| port.is_required()).map(|port| port.name.as_str());
        let required: HashSet<&str> = required.collect();
        if required.is_empty() {
            certain.insert(node.id.as_str());
            open.extend(leaving.get(node.id.as_str()).into_iter().flatten());
        } else {
            waiting.insert(node.id.as_str(), required);
        }
    }
    while let Some(connected) = open.pop() {
        let EdgeTarget::Input(node, port) = connected.destination else { continue };
        if !is_certain(connected, &certain) {
            continue;
        }
        let id = node.id.as_str();
        let Some(ports) = waiting.get_mut(id) else { continue };
        ports.remove(port.name.as_str());
        if ports.is_empty() {
            waiting.remove(id);
            certain.insert(id);
            open.extend(leaving.get(id).into_iter().flatten());
        }
    }
    certain
}
