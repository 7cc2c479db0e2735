//! A flow as a neutral diagram: what enters, the nodes with what they do, what leaves.

use std::collections::{HashMap, HashSet};

use stave_operations::PYTHON;
use stave_picture::{Arrow, Box, Diagram, Style, Tone};

use crate::graph::{self, Connected, EdgeSource, EdgeTarget};
use crate::model::{Flow, INPUT, Node, OUTPUT, Text};

/// The diagram of a flow. Edges with a broken end are left out.
#[must_use]
pub fn diagram(flow: &Flow) -> Diagram {
    let edges = graph::connected(flow);
    let title = flow.metadata.name.as_ref().map_or_else(String::new, |name| name.as_str().to_owned());
    let mut boxes = Vec::new();
    if edges.iter().any(|edge| matches!(edge.origin, EdgeSource::Request(_))) {
        boxes.push(border(INPUT, "request"));
    }
    boxes.extend(flow.nodes.values().map(|node| Box {
        id: node.id.value.clone(),
        title: node.id.value.clone(),
        subtitle: subtitle(node),
        tone: tone(node),
    }));
    if edges.iter().any(|edge| edge.destination.node().is_none()) {
        boxes.push(border(OUTPUT, "response"));
    }
    let mut arrows: Vec<Arrow> = Vec::new();
    // Several plain edges between two nodes are one arrow that names all their ports.
    let mut plain: HashMap<(String, String), (usize, HashSet<String>)> = HashMap::new();
    for edge in &edges {
        let arrow = arrow(edge);
        if arrow.style != Style::Plain {
            arrows.push(arrow);
            continue;
        }
        let ends = (arrow.from.clone(), arrow.to.clone());
        let (place, labels) = plain.entry(ends).or_insert_with(|| (arrows.len(), HashSet::new()));
        let is_new = labels.insert(arrow.label.clone());
        match arrows.get_mut(*place) {
            Some(known) if is_new => known.label.extend([", ", arrow.label.as_str()]),
            Some(_) => {}
            None => arrows.push(arrow),
        }
    }
    for node in flow.nodes.values() {
        for tool in node.prompt.iter().flat_map(|prompt| &prompt.tools) {
            let target = tool.maps_to.as_ref().filter(|target| flow.nodes.contains_key(target.as_str()));
            let Some(target) = target else { continue };
            arrows.push(Arrow {
                from: node.id.value.clone(),
                to: target.as_str().to_owned(),
                label: tool.name.as_ref().map_or_else(String::new, |name| name.as_str().to_owned()),
                style: Style::Call,
            });
        }
    }
    for (node, each) in flow.nodes.values().filter_map(|node| Some((node, node.each()?))) {
        if flow.nodes.contains_key(each.node.as_str()) {
            arrows.push(Arrow {
                from: node.id.value.clone(),
                to: each.node.as_str().to_owned(),
                label: "each item".to_owned(),
                style: Style::Call,
            });
        }
    }
    Diagram { title, boxes, arrows }
}

fn border(id: &str, title: &str) -> Box {
    Box { id: id.to_owned(), title: title.to_owned(), subtitle: String::new(), tone: Tone::Border }
}

fn arrow(edge: &Connected<'_>) -> Arrow {
    let (from, port) = match edge.origin {
        EdgeSource::Request(field) => (INPUT, field),
        EdgeSource::Output(node, port) | EdgeSource::Error(node, port) => {
            (node.id.as_str(), port.name.as_str())
        }
    };
    let to = match edge.destination {
        EdgeTarget::Input(node, _) => node.id.as_str(),
        EdgeTarget::Response | EdgeTarget::ResponseField(_) => OUTPUT,
    };
    let condition = edge.edge.condition.as_ref().map(Text::as_str);
    let condition = condition.or(edge.edge.otherwise.map(|_| "else"));
    let style = match (edge.origin, condition) {
        (EdgeSource::Error(..), _) => Style::Failure,
        (_, Some(_)) => Style::Conditional,
        (_, None) => Style::Plain,
    };
    let label = condition.map_or_else(|| port.to_owned(), |condition| condition.trim().to_owned());
    Arrow { from: from.to_owned(), to: to.to_owned(), label, style }
}

fn subtitle(node: &Node) -> String {
    let model = node.prompt.as_ref().map(|prompt| {
        let name = prompt.model.as_ref().and_then(|model| model.name.as_ref());
        name.map_or("default model", Text::as_str)
    });
    let work = node.op().or_else(|| node.transform.as_ref().map(|_| PYTHON.name));
    match (model, work) {
        (Some(model), Some(work)) if work == PYTHON.name => format!("{model}, {work}"),
        (Some(model), _) => model.to_owned(),
        (None, Some(work)) => work.to_owned(),
        (None, None) => String::new(),
    }
}

fn tone(node: &Node) -> Tone {
    let outside = node.descriptor().is_some_and(|operation| operation.network);
    if node.prompt.is_read() {
        Tone::Model
    } else if outside {
        Tone::Outside
    } else if node.state.is_read() {
        Tone::Memory
    } else {
        Tone::Step
    }
}
