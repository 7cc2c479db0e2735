//! Where nodes are drawn: where the file says, and automatically where it says nothing.

use std::collections::HashMap;

use stave_flow::model::{Flow, INPUT, Node, OUTPUT};
use stave_picture::{Arrow, Box, Diagram, Style, Tone, places};

/// The size of a node on the canvas: its head, and a row for each pair of ports.
const WIDTH: f64 = 220.0;
const HEAD: f64 = 64.0;
const ROW: f64 = 24.0;
/// The room around nodes.
const GAP: f64 = 40.0;
/// How often a node that lies on another is moved on.
const MOVES: usize = 1000;
/// How many places are compared for all nodes together. Nodes that are left then may lie on others.
const COMPARISONS: usize = 10_000_000;

/// The upper left corners of nodes, by id.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) at: HashMap<String, (f64, f64)>,
    pub(super) width: f64,
    pub(super) height: f64,
}

pub(super) fn layout(flow: &Flow) -> Layout {
    let diagram = diagram(flow);
    let heights: HashMap<&str, f64> =
        flow.nodes.values().map(|node| (node.id.as_str(), height(node))).collect();
    let of = |id: &str| heights.get(id).copied().unwrap_or(HEAD + ROW * pseudo_rows(flow, id));
    let automatic = places(&diagram, &|one| (WIDTH, of(&one.id)));
    let automatic: HashMap<&str, (f64, f64)> = diagram
        .boxes
        .iter()
        .zip(&automatic)
        .map(|(one, place)| (one.id.as_str(), (place.left, place.top)))
        .collect();
    let written: HashMap<&str, (f64, f64)> =
        flow.nodes.values().filter_map(|node| Some((node.id.as_str(), position(node)?))).collect();
    let mut taken: Vec<(f64, f64, f64)> = written.iter().map(|(id, (x, y))| (*x, *y, of(id))).collect();
    // Nodes without a position keep the distance to the others that they would have if nobody had moved anything.
    let shift = offset(&written, &automatic);
    let mut at: HashMap<String, (f64, f64)> = HashMap::new();
    let mut comparisons = COMPARISONS;
    for one in &diagram.boxes {
        let id = one.id.as_str();
        let place = match written.get(id) {
            Some(place) => *place,
            None => {
                let (x, y) = automatic.get(id).copied().unwrap_or_default();
                let (x, y) = (x + shift.0, y + shift.1);
                let place = match written.is_empty() {
                    true => (x, y),
                    false => free(&taken, (x, y), of(id), &mut comparisons),
                };
                taken.push((place.0, place.1, of(id)));
                place
            }
        };
        at.insert(id.to_owned(), (place.0.round(), place.1.round()));
    }
    let right = at.values().map(|(x, _)| x + WIDTH).fold(0.0, f64::max);
    let bottom = at.iter().map(|(id, (_, y))| y + of(id)).fold(0.0, f64::max);
    Layout { at, width: right, height: bottom }
}

/// The whole flow, with the request and the response even when nothing is connected to them.
fn diagram(flow: &Flow) -> Diagram {
    let mut diagram = stave_flow::picture::diagram(flow);
    for (id, place) in [(INPUT, 0), (OUTPUT, diagram.boxes.len())] {
        if !diagram.boxes.iter().any(|one| one.id == id) {
            let border =
                Box { id: id.to_owned(), title: id.to_owned(), subtitle: String::new(), tone: Tone::Border };
            diagram.boxes.insert(place.min(diagram.boxes.len()), border);
        }
    }
    // Labels are drawn by the page, which keeps them short.
    for arrow in &mut diagram.arrows {
        arrow.label.clear();
    }
    if !diagram.arrows.iter().any(|arrow| arrow.to == OUTPUT) {
        let last = flow.nodes.keys().next_back().cloned().unwrap_or_else(|| INPUT.to_owned());
        diagram.arrows.push(Arrow {
            from: last,
            to: OUTPUT.to_owned(),
            label: String::new(),
            style: Style::Plain,
        });
    }
    diagram
}

fn position(node: &Node) -> Option<(f64, f64)> {
    let position = node.position.as_ref()?;
    let (x, y) = (position.x.as_ref()?.as_f64(), position.y.as_ref()?.as_f64());
    (x.is_finite() && y.is_finite()).then_some((x, y))
}

fn height(node: &Node) -> f64 {
    let rows = node.inputs.len().max(node.outputs.len() + usize::from(node.error.is_read()));
    HEAD + ROW * rows as f64
}

fn pseudo_rows(flow: &Flow, id: &str) -> f64 {
    if id == INPUT { flow.context.fields().count().max(1) as f64 } else { 1.0 }
}

/// How far the written positions lie from the automatic ones, on the whole.
fn offset(written: &HashMap<&str, (f64, f64)>, automatic: &HashMap<&str, (f64, f64)>) -> (f64, f64) {
    let moved: Vec<(f64, f64)> = written
        .iter()
        .filter_map(|(id, place)| {
            let from = automatic.get(id)?;
            Some((place.0 - from.0, place.1 - from.1))
        })
        .collect();
    if moved.is_empty() {
        return (0.0, 0.0);
    }
    let count = moved.len() as f64;
    let sum = moved.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (sum.0 / count, sum.1 / count)
}

/// The place nearest below that touches nothing.
fn free(
    taken: &[(f64, f64, f64)],
    (x, mut y): (f64, f64),
    height: f64,
    comparisons: &mut usize,
) -> (f64, f64) {
    for _ in 0..MOVES {
        let Some(left) = comparisons.checked_sub(taken.len()) else { break };
        *comparisons = left;
        let hit = taken.iter().find(|(left, top, tall)| {
            x < left + WIDTH + GAP && left - GAP < x + WIDTH && y < top + tall + GAP && top - GAP < y + height
        });
        match hit {
            Some((_, top, tall)) => y = top + tall + GAP,
            None => break,
        }
    }
    (x, y)
}
