//! Which nodes lead to which, along edges and calls of tools.
//!
//! A way only ever climbs, as long as there is no cycle: each node is at least one level above those
//! that lead to it. A search for a node need not look past its level, so that a question about two nodes
//! near each other stays small in a large flow.

use std::collections::HashSet;

use crate::graph::Connected;
use crate::model::Flow;

/// Nodes are known by their place in the file.
pub(super) struct Reachability {
    edges: Vec<Vec<usize>>,
    calls: Vec<Vec<usize>>,
    /// Edges and calls, the other way round.
    back: Vec<Vec<usize>>,
    /// Absent where a cycle leads to a node.
    levels: Vec<Option<usize>>,
}

impl Reachability {
    pub(super) fn new(flow: &Flow, connected: &[Connected<'_>]) -> Self {
        let none = || vec![Vec::new(); flow.nodes.len()];
        let (mut edges, mut calls, mut back) = (none(), none(), none());
        let mut add = |list: &mut Vec<Vec<usize>>, from: &str, to: &str| {
            let ends = (flow.nodes.get_index_of(from), flow.nodes.get_index_of(to));
            if let (Some(from), Some(to)) = ends
                && let (Some(next), Some(before)) = (list.get_mut(from), back.get_mut(to))
            {
                next.push(to);
                before.push(from);
            }
        };
        for connected in connected {
            if let (Some(from), Some(to)) = (connected.origin.node(), connected.destination.node()) {
                add(&mut edges, &from.id, &to.id);
            }
        }
        for node in flow.nodes.values() {
            for target in node.called() {
                add(&mut calls, &node.id, target.as_str());
            }
        }
        let mut reachability = Reachability { edges, calls, back, levels: Vec::new() };
        reachability.levels = reachability.levels();
        reachability
    }

    /// The length of the longest way to each node.
    fn levels(&self) -> Vec<Option<usize>> {
        let mut levels = vec![None; self.edges.len()];
        let mut waiting: Vec<(usize, usize)> = self.back.iter().map(|back| (back.len(), 0)).collect();
        let mut open: Vec<usize> = waiting
            .iter()
            .enumerate()
            .filter(|(_, (count, _))| *count == 0)
            .map(|(index, _)| index)
            .collect();
        while let Some(index) = open.pop() {
            let level = waiting.get(index).map_or(0, |(_, level)| *level);
            if let Some(place) = levels.get_mut(index) {
                *place = Some(level);
            }
            for next in self.next(index, true) {
                if let Some((count, highest)) = waiting.get_mut(next) {
                    *count -= 1;
                    *highest = (*highest).max(level + 1);
                    if *count == 0 {
                        open.push(next);
                    }
                }
            }
        }
        levels
    }

    fn next(&self, index: usize, calls: bool) -> impl Iterator<Item = usize> {
        let calls = self.calls.get(index).filter(|_| calls).into_iter().flatten();
        self.edges.get(index).into_iter().flatten().chain(calls).copied()
    }

    fn level(&self, index: usize) -> Option<usize> {
        self.levels.get(index).copied().flatten()
    }

    /// Whether a way leads from one node to another, along calls too if `calls` says so.
    pub(super) fn lead(&self, from: usize, to: usize, calls: bool) -> bool {
        let limit = self.level(to);
        let is_below = |index: usize| match (self.level(index), limit) {
            (Some(level), Some(limit)) => level < limit,
            // A node behind a cycle leads to nothing that has a level.
            (None, Some(_)) => false,
            (_, None) => true,
        };
        let mut seen: HashSet<usize> = HashSet::new();
        let mut open = vec![from];
        while let Some(index) = open.pop() {
            for next in self.next(index, calls) {
                if next == to {
                    return true;
                }
                if is_below(next) && seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }

    /// For every node whether a way leads to it from a given one or from it to that one.
    pub(super) fn ordered_with(&self, index: usize) -> Vec<bool> {
        let mut ordered = vec![false; self.edges.len()];
        self.walk(&mut ordered, self.next(index, true).collect(), |index| self.next(index, true).collect());
        let before = |index: usize| self.back.get(index).cloned().unwrap_or_default();
        let mut behind = vec![false; self.edges.len()];
        self.walk(&mut behind, before(index), before);
        ordered.iter().zip(behind).map(|(ahead, behind)| *ahead || behind).collect()
    }

    fn walk(&self, seen: &mut [bool], mut open: Vec<usize>, steps: impl Fn(usize) -> Vec<usize>) {
        while let Some(index) = open.pop() {
            if let Some(seen) = seen.get_mut(index).filter(|seen| !**seen) {
                *seen = true;
                open.extend(steps(index));
            }
        }
    }
}
