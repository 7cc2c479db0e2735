//! Where boxes go: layers from left to right, few crossings, straight long arrows.
//!
//! The usual layered method: each box is one layer right of the last box that leads to it; an arrow
//! over several layers gets a bend in each of them; sweeps order every layer by the middle of its
//! neighbours; then boxes settle at the height of their neighbours without touching each other.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use crate::{Box, Diagram};

/// Sizes in pixels.
const CHARACTER: f64 = 7.4;
const PADDING: f64 = 28.0;
const LEAST_WIDTH: f64 = 96.0;
const MOST_WIDTH: f64 = 280.0;
const HEIGHT: f64 = 46.0;
const BEND_HEIGHT: f64 = 10.0;
const ROW_GAP: f64 = 26.0;
const LAYER_GAP: f64 = 92.0;
/// What a label needs besides its own width: the arrow's head, and some air.
const LABEL_ROOM: f64 = 40.0;
const SWEEPS: usize = 8;
/// The most bends in all arrows of a picture. Every arrow of a long chain that begins at its first box would otherwise
/// have a bend in every layer.
const MOST_BENDS: usize = 50_000;

/// A laid out diagram.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    /// By box.
    pub(crate) places: Vec<NodeBox>,
    /// By arrow: the points it goes through, from border to border; empty when an end is missing.
    pub(crate) routes: Vec<Vec<(f64, f64)>>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A box on the canvas, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeBox {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// Something in a layer: a box, or a bend of an arrow.
#[derive(Debug, Clone)]
struct Item {
    layer: usize,
    width: f64,
    height: f64,
    /// The middle of its height.
    y: f64,
    left: Vec<usize>,
    right: Vec<usize>,
}

pub(crate) fn layout(diagram: &Diagram) -> Layout {
    layout_sized(diagram, &|one| {
        let text = one.title.width().max(one.subtitle.width()) as f64;
        ((text * CHARACTER + PADDING).clamp(LEAST_WIDTH, MOST_WIDTH), HEIGHT)
    })
}

/// Where the boxes of a diagram go when each has this width and height.
#[must_use]
pub fn places(diagram: &Diagram, size: &dyn Fn(&Box) -> (f64, f64)) -> Vec<NodeBox> {
    layout_sized(diagram, size).places
}

fn layout_sized(diagram: &Diagram, size: &dyn Fn(&Box) -> (f64, f64)) -> Layout {
    let ends = diagram.ends();
    let layer_of = layers(diagram.boxes.len(), &ends);
    let mut items: Vec<Item> = diagram
        .boxes
        .iter()
        .zip(&layer_of)
        .map(|(one, layer)| {
            let (width, height) = size(one);
            Item { layer: *layer, width, height, y: 0.0, left: Vec::new(), right: Vec::new() }
        })
        .collect();
    let mut bends = MOST_BENDS;
    let chains: Vec<Vec<usize>> = ends.iter().map(|ends| chain(&mut items, *ends, &mut bends)).collect();
    let mut rows: Vec<Vec<usize>> =
        vec![Vec::new(); items.iter().map(|item| item.layer + 1).max().unwrap_or(0)];
    for (index, item) in items.iter().enumerate() {
        if let Some(row) = rows.get_mut(item.layer) {
            row.push(index);
        }
    }
    order(&items, &mut rows);
    let lefts = columns(&items, &rows, &gaps(diagram, &ends, &layer_of));
    settle(&mut items, &rows);
    let top = items.iter().map(|item| item.y - item.height / 2.0).fold(f64::INFINITY, f64::min);
    let top = if top.is_finite() { top } else { 0.0 };
    let place = |item: &Item| {
        let (left, column) = lefts.get(item.layer).copied().unwrap_or((0.0, item.width));
        // A bend crosses its whole layer, so that its arrow passes between boxes straight.
        let width = if item.width > 0.0 { item.width } else { column };
        let left = left + (column - width) / 2.0;
        NodeBox { left, top: item.y - item.height / 2.0 - top, width, height: item.height }
    };
    let all: Vec<NodeBox> = items.iter().map(place).collect();
    let routes = chains.iter().map(|chain| route(chain, &all)).collect();
    let width = lefts.last().map_or(0.0, |(left, column)| left + column);
    let height = all.iter().map(|place| place.top + place.height).fold(0.0, f64::max);
    let places = all.into_iter().take(diagram.boxes.len()).collect();
    Layout { places, routes, width, height }
}

/// The layer of each box: the longest way to it. Boxes on a cycle are taken as they come, so the walk
/// always ends.
fn layers(count: usize, ends: &[Option<(usize, usize)>]) -> Vec<usize> {
    let mut layer = vec![0; count];
    let mut waiting = vec![0_usize; count];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in ends.iter().flatten().filter(|(from, to)| from != to) {
        if let (Some(left), Some(next)) = (waiting.get_mut(*to), next.get_mut(*from)) {
            *left += 1;
            next.push(*to);
        }
    }
    let is_free = |waiting: &[usize], index: usize| waiting.get(index) == Some(&0);
    let mut left: BTreeSet<usize> = (0..count).collect();
    let mut free: BTreeSet<usize> = left.iter().copied().filter(|index| is_free(&waiting, *index)).collect();
    // The first of those that wait for nothing; on a cycle the first of all.
    while let Some(here) = free.pop_first().or_else(|| left.first().copied()) {
        left.remove(&here);
        let below = layer.get(here).copied().unwrap_or(0) + 1;
        for to in next.get(here).into_iter().flatten().copied().filter(|to| left.contains(to)) {
            if let (Some(slot), Some(waiting)) = (layer.get_mut(to), waiting.get_mut(to)) {
                *slot = below.max(*slot);
                *waiting = waiting.saturating_sub(1);
            }
            if is_free(&waiting, to) {
                free.insert(to);
            }
        }
    }
    layer
}

/// The items an arrow goes through: its ends, and a bend in every layer between them. An arrow for which no bends are
/// left is drawn straight.
fn chain(items: &mut Vec<Item>, ends: Option<(usize, usize)>, bends: &mut usize) -> Vec<usize> {
    let Some((from, to)) = ends else { return Vec::new() };
    let layer = |items: &[Item], index: usize| items.get(index).map_or(0, |item| item.layer);
    let (start, end) = (layer(items, from), layer(items, to));
    let mut chain = vec![from];
    let needed = end.saturating_sub(start + 1);
    let end = if needed <= *bends { end } else { start };
    *bends -= end.saturating_sub(start + 1);
    for between in start + 1..end {
        items.push(Item {
            layer: between,
            width: 0.0,
            height: BEND_HEIGHT,
            y: 0.0,
            left: Vec::new(),
            right: Vec::new(),
        });
        chain.push(items.len() - 1);
    }
    chain.push(to);
    for pair in chain.clone().windows(2) {
        if let [first, second] = pair
            && layer(items, *first) < layer(items, *second)
        {
            if let Some(item) = items.get_mut(*first) {
                item.right.push(*second);
            }
            if let Some(item) = items.get_mut(*second) {
                item.left.push(*first);
            }
        }
    }
    chain
}

/// Orders each layer by the middle of its neighbours, to the right and back, keeping ties as they are.
fn order(items: &[Item], rows: &mut [Vec<usize>]) {
    let mut rank: Vec<f64> = vec![0.0; items.len()];
    let number = |rows: &[Vec<usize>], rank: &mut [f64]| {
        for row in rows {
            for (place, index) in row.iter().enumerate() {
                if let Some(slot) = rank.get_mut(*index) {
                    *slot = place as f64;
                }
            }
        }
    };
    number(rows, &mut rank);
    for sweep in 0..SWEEPS {
        let forward = sweep % 2 == 0;
        let count = rows.len();
        for step in 0..count {
            let layer = if forward { step } else { count - 1 - step };
            let Some(row) = rows.get_mut(layer) else { continue };
            let middle = |index: usize| {
                let item = items.get(index);
                let neighbours = item.map(|item| if forward { &item.left } else { &item.right });
                let ranks: Vec<f64> =
                    neighbours.into_iter().flatten().filter_map(|other| rank.get(*other)).copied().collect();
                if ranks.is_empty() {
                    rank.get(index).copied().unwrap_or(0.0)
                } else {
                    ranks.iter().sum::<f64>() / ranks.len() as f64
                }
            };
            let mut keyed: Vec<(f64, usize)> = row.iter().map(|index| (middle(*index), *index)).collect();
            keyed.sort_by(|left, right| left.0.total_cmp(&right.0));
            *row = keyed.into_iter().map(|(_, index)| index).collect();
            for (place, index) in row.iter().enumerate() {
                if let Some(slot) = rank.get_mut(*index) {
                    *slot = place as f64;
                }
            }
        }
    }
}

/// The room behind each layer: enough for the labels of the arrows that leave it.
fn gaps(diagram: &Diagram, ends: &[Option<(usize, usize)>], layer_of: &[usize]) -> Vec<f64> {
    let mut gaps = vec![LAYER_GAP; layer_of.iter().map(|layer| layer + 1).max().unwrap_or(0)];
    for (arrow, ends) in diagram.arrows.iter().zip(ends) {
        let Some((from, _)) = ends else { continue };
        let layer = layer_of.get(*from).copied().unwrap_or(0);
        if let Some(gap) = gaps.get_mut(layer) {
            *gap = gap.max(crate::svg::label_width(&arrow.label) + LABEL_ROOM);
        }
    }
    gaps
}

/// The left border and the width of each layer.
fn columns(items: &[Item], rows: &[Vec<usize>], gaps: &[f64]) -> Vec<(f64, f64)> {
    let mut left = 0.0;
    let mut columns = Vec::with_capacity(rows.len());
    for (layer, row) in rows.iter().enumerate() {
        let width =
            row.iter().filter_map(|index| items.get(*index)).map(|item| item.width).fold(0.0, f64::max);
        columns.push((left, width));
        left += width + gaps.get(layer).copied().unwrap_or(LAYER_GAP);
    }
    columns
}

/// Stacks each layer, then moves items towards their neighbours as far as the ones beside them allow.
fn settle(items: &mut [Item], rows: &[Vec<usize>]) {
    for row in rows {
        let mut y = 0.0;
        for index in row {
            if let Some(item) = items.get_mut(*index) {
                item.y = y + item.height / 2.0;
                y += item.height + ROW_GAP;
            }
        }
    }
    for sweep in 0..SWEEPS * 2 {
        for step in 0..rows.len() {
            let layer = if sweep % 2 == 0 { step } else { rows.len() - 1 - step };
            let Some(row) = rows.get(layer) else { continue };
            let wanted: Vec<f64> = row.iter().map(|index| wanted(items, *index)).collect();
            separate(items, row, &wanted);
        }
    }
}

fn wanted(items: &[Item], index: usize) -> f64 {
    let Some(item) = items.get(index) else { return 0.0 };
    let around: Vec<f64> = item
        .left
        .iter()
        .chain(&item.right)
        .filter_map(|other| items.get(*other))
        .map(|other| other.y)
        .collect();
    if around.is_empty() { item.y } else { around.iter().sum::<f64>() / around.len() as f64 }
}

/// Places a layer's items near their wishes in the given order: runs of items that would touch move
/// together to the middle of what they want.
fn separate(items: &mut [Item], row: &[usize], wanted: &[f64]) {
    struct Run {
        from: usize,
        offset_sum: f64,
        count: f64,
    }
    let gap = |items: &[Item], above: usize, below: usize| {
        let height =
            |index: usize| row.get(index).and_then(|index| items.get(*index)).map_or(0.0, |item| item.height);
        height(above) / 2.0 + ROW_GAP + height(below) / 2.0
    };
    // The offset of each item from the first of its layer, if all of them touched.
    let mut offsets = vec![0.0; row.len()];
    for index in 1..row.len() {
        let before = offsets.get(index - 1).copied().unwrap_or(0.0);
        if let Some(slot) = offsets.get_mut(index) {
            *slot = before + gap(items, index - 1, index);
        }
    }
    let mut runs: Vec<Run> = Vec::new();
    for (index, wish) in wanted.iter().enumerate() {
        let offset = offsets.get(index).copied().unwrap_or(0.0);
        runs.push(Run { from: index, offset_sum: wish - offset, count: 1.0 });
        while let [.., above, below] = runs.as_slice() {
            if above.offset_sum / above.count <= below.offset_sum / below.count {
                break;
            }
            let merged = Run {
                from: above.from,
                offset_sum: above.offset_sum + below.offset_sum,
                count: above.count + below.count,
            };
            runs.truncate(runs.len() - 2);
            runs.push(merged);
        }
    }
    for (place, run) in runs.iter().enumerate() {
        let end = runs.get(place + 1).map_or(row.len(), |next| next.from);
        for index in run.from..end {
            let offset = offsets.get(index).copied().unwrap_or(0.0);
            if let Some(item) = row.get(index).and_then(|index| items.get_mut(*index)) {
                item.y = run.offset_sum / run.count + offset;
            }
        }
    }
}

/// The points of an arrow: out of the right border, through its bends, into the left border. An arrow
/// backwards leaves and enters below the boxes.
fn route(chain: &[usize], places: &[NodeBox]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return Vec::new() };
    let (Some(from), Some(to)) = (places.get(*first), places.get(*last)) else { return Vec::new() };
    let middle = |place: &NodeBox| place.top + place.height / 2.0;
    if to.left <= from.left {
        let under = (from.top + from.height).max(to.top + to.height) + ROW_GAP / 2.0;
        return vec![
            (from.left + from.width, middle(from)),
            (from.left + from.width + ROW_GAP, under),
            (to.left - ROW_GAP, under),
            (to.left, middle(to)),
        ];
    }
    let mut points = vec![(from.left + from.width, middle(from))];
    for bend in chain.get(1..chain.len() - 1).unwrap_or_default() {
        if let Some(place) = places.get(*bend) {
            points.push((place.left, middle(place)));
            points.push((place.left + place.width, middle(place)));
        }
    }
    points.push((to.left, middle(to)));
    points
}
