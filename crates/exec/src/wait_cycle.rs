//! Steps that wait for themselves.
//!
//! A node waits for the nodes whose edges lead to it, and for the nodes that it runs itself. The runtime rejects a
//! document with a cycle of waits, and the check of a workflow reports it. Both ask here.

use std::collections::VecDeque;

use stave_canon::{Object, Value};
use stave_operations::TRANSFORM_EACH;

/// The ids of the nodes that a node of this kind runs itself: as tools of a model, or for every item of a list.
pub fn called_nodes<'w>(kind: &str, with: &'w Object) -> impl Iterator<Item = &'w str> {
    let tools = with.get("tools").and_then(Value::as_array).unwrap_or_default();
    let tools = tools.iter().filter_map(|tool| tool.get("maps_to")?.as_str());
    let each = with.get("node").filter(|_| kind == TRANSFORM_EACH.name).and_then(Value::as_str);
    tools.chain(each)
}

/// A cycle in which each node waits for the next one, the first node again at the end. `waits` has for every node the
/// nodes that it waits for. `None` when every node can start.
#[must_use]
pub fn wait_cycle(waits: &[Vec<usize>]) -> Option<Vec<usize>> {
    let is_stuck = stuck(waits);
    let next_stuck = |node: usize| {
        waits.get(node)?.iter().copied().find(|next| is_stuck.get(*next).copied().unwrap_or_default())
    };
    // Every stuck node waits for another stuck node, so this walk reaches some node twice.
    let mut seen = vec![false; waits.len()];
    let mut here = is_stuck.iter().position(|stuck| *stuck)?;
    while let Some(seen) = seen.get_mut(here).filter(|seen| !**seen) {
        *seen = true;
        here = next_stuck(here)?;
    }
    shortest_cycle(waits, here)
}

/// Whether each node can never start, because it is on a cycle or waits for one.
fn stuck(waits: &[Vec<usize>]) -> Vec<bool> {
    let mut waiting_for: Vec<Vec<usize>> = vec![Vec::new(); waits.len()];
    for (node, others) in waits.iter().enumerate() {
        for other in others {
            if let Some(list) = waiting_for.get_mut(*other) {
                list.push(node);
            }
        }
    }
    let mut left: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut free: Vec<usize> = (0..waits.len()).filter(|node| left.get(*node) == Some(&0)).collect();
    while let Some(node) = free.pop() {
        for other in waiting_for.get(node).into_iter().flatten() {
            if let Some(left) = left.get_mut(*other) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    free.push(*other);
                }
            }
        }
    }
    left.into_iter().map(|left| left > 0).collect()
}

/// A shortest way from a node back to it.
fn shortest_cycle(waits: &[Vec<usize>], start: usize) -> Option<Vec<usize>> {
    let mut came_from: Vec<Option<usize>> = vec![None; waits.len()];
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for next in waits.get(node)?.iter().copied() {
            if next == start {
                let mut path = vec![start];
                let mut here = node;
                while here != start {
                    path.push(here);
                    here = came_from.get(here).copied().flatten()?;
                }
                path.push(start);
                path.reverse();
                return Some(path);
            }
            if let Some(from @ None) = came_from.get_mut(next) {
                *from = Some(node);
                open.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_leads_from_a_node_back_to_it() {
        let cases = [
            (vec![], None),
            (vec![vec![], vec![0], vec![0, 1]], None),
            (vec![vec![0]], Some(vec![0, 0])),
            (vec![vec![1], vec![0]], Some(vec![0, 1, 0])),
            // What waits for a cycle is not on it.
            (vec![vec![1], vec![2], vec![3], vec![1]], Some(vec![1, 2, 3, 1])),
            // The shortest way of two.
            (vec![vec![1, 2], vec![2], vec![0]], Some(vec![0, 2, 0])),
        ];
        for (waits, wanted) in cases {
            assert_eq!(wait_cycle(&waits), wanted, "{waits:?}");
        }
    }
}
