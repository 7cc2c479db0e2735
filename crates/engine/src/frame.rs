//! How far one graph has come: settled edges, results, and the nodes that are ready, waiting or done.

use std::collections::BTreeSet;

use stave_canon::{Object, Value};

use crate::failure::{Failure, RunFailure};
use crate::graph::{EngineNode, Graph, OUTPUT};
use crate::machine::{MachineAction, StepStart};
use crate::routes::{Signal, StepResult};
use crate::semantics::Readiness;

#[derive(Debug)]
pub(crate) struct Frame {
    /// The fields of the request as one object, which references can name.
    pub(crate) request: Value,
    /// By edge: `None` until its source is done.
    signals: Vec<Option<Signal>>,
    /// By node: what later steps can name of it.
    results: Vec<Option<Value>>,
    /// By node: whether it began, was skipped or was cancelled.
    started: Vec<bool>,
    /// By node: how many edges it still waits for, those of the nodes it may run included.
    unsettled: Vec<usize>,
    /// The nodes that wait for no edge any more and have not been looked at, in document order.
    ready: BTreeSet<usize>,
    /// The nodes that wait for a person.
    pub(crate) waiting: BTreeSet<usize>,
    /// The first failure that nothing handled.
    pub(crate) failed: Option<RunFailure>,
}

impl Frame {
    pub(crate) fn new(graph: &Graph, request: Object) -> Frame {
        let incoming = |index: &usize| graph.nodes.get(*index).map_or(0, |node| node.incoming.len());
        let unsettled: Vec<usize> = graph
            .nodes
            .iter()
            .map(|node| node.incoming.len() + node.tools.iter().map(incoming).sum::<usize>())
            .collect();
        let free = unsettled.iter().enumerate().filter(|(_, left)| **left == 0);
        Frame {
            request: Value::Object(request),
            signals: vec![None; graph.edges.len()],
            results: vec![None; graph.nodes.len()],
            started: graph.nodes.iter().map(|node| node.is_tool()).collect(),
            ready: free.map(|(index, _)| index).collect(),
            unsettled,
            waiting: BTreeSet::new(),
            failed: None,
        }
    }

    pub(crate) fn signal(&self, edge: usize) -> Option<&Signal> {
        self.signals.get(edge).and_then(Option::as_ref)
    }

    pub(crate) fn result(&self, node: usize) -> Option<&Value> {
        self.results.get(node).and_then(Option::as_ref)
    }

    /// A node that has a result from before neither starts again nor is cancelled.
    pub(crate) fn mark_started(&mut self, node: usize) {
        mark(&mut self.started, node);
    }

    /// Settles the edges of a finished node, and cancels the nodes that its failure makes pointless.
    pub(crate) fn finish(
        &mut self,
        graph: &Graph,
        index: usize,
        result: StepResult,
        actions: &mut Vec<MachineAction>,
    ) {
        let Some(node) = graph.nodes.get(index) else { return };
        let StepResult { outputs, signals, unhandled, attempts } = result;
        for (edge, signal) in signals {
            self.settle(graph, edge, signal);
        }
        if let Some(slot) = self.results.get_mut(index) {
            *slot = graph.semantics.named_result(node, &outputs, attempts);
        }
        if let Some(failure) = unhandled {
            self.failed.get_or_insert_with(|| RunFailure::of_node(node, failure, attempts));
            self.cancel_dependants(graph, index, actions);
        }
    }

    /// The next node that can start, the first of the document first. Nodes that never will are skipped on the way,
    /// which may make an earlier one ready.
    pub(crate) fn next_start(
        &mut self,
        graph: &Graph,
        actions: &mut Vec<MachineAction>,
    ) -> Option<StepStart> {
        while let Some(index) = self.ready.pop_first() {
            let Some(node) = graph.nodes.get(index) else { continue };
            if self.started.get(index) != Some(&false) || node.id == OUTPUT {
                continue;
            }
            mark(&mut self.started, index);
            match graph.semantics.readiness(graph, self, node) {
                Readiness::Ready(inputs) => return Some(self.start(graph, index, node, inputs)),
                Readiness::Skip(reason) => {
                    self.settle_all(graph, node, &format!("`{}` was skipped", node.id));
                    actions.push(MachineAction::Skip { node: index, reason });
                }
                Readiness::Fail(failure) => self.fail(graph, index, node, failure, actions),
            }
        }
        None
    }

    /// The start of a node that waited, with what reached it.
    pub(crate) fn restart(&self, graph: &Graph, index: usize) -> Option<StepStart> {
        let node = graph.nodes.get(index)?;
        match graph.semantics.readiness(graph, self, node) {
            Readiness::Ready(inputs) => Some(self.start(graph, index, node, inputs)),
            Readiness::Skip(_) | Readiness::Fail(_) => None,
        }
    }

    fn start(&self, graph: &Graph, index: usize, node: &EngineNode, inputs: Object) -> StepStart {
        let tool_inputs = node.tools.iter().filter_map(|tool| {
            let brought = graph.semantics.brought(graph, self, graph.nodes.get(*tool)?)?;
            Some((*tool, brought))
        });
        StepStart { node: index, inputs, tool_inputs: tool_inputs.collect() }
    }

    /// Records what an edge carries. Nodes that wait for no further edge become ready.
    fn settle(&mut self, graph: &Graph, edge: usize, signal: Signal) {
        let Some(slot) = self.signals.get_mut(edge) else { return };
        let is_first = slot.is_none();
        *slot = Some(signal);
        let target = graph.edges.get(edge).filter(|_| is_first).map(|edge| edge.to);
        let Some((index, node)) = target.and_then(|index| Some((index, graph.nodes.get(index)?))) else {
            return;
        };
        for waiting in std::iter::once(&index).chain(&node.runners) {
            if let Some(left) = self.unsettled.get_mut(*waiting) {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    self.ready.insert(*waiting);
                }
            }
        }
    }

    fn settle_all(&mut self, graph: &Graph, node: &EngineNode, reason: &str) {
        for edge in &node.outgoing {
            self.settle(graph, *edge, Signal::Inactive(reason.to_owned()));
        }
    }

    fn fail(
        &mut self,
        graph: &Graph,
        index: usize,
        node: &EngineNode,
        failure: Failure,
        actions: &mut Vec<MachineAction>,
    ) {
        self.settle_all(graph, node, &format!("`{}` failed", node.id));
        self.failed.get_or_insert_with(|| RunFailure::of_node(node, failure.clone(), 0));
        actions.push(MachineAction::Fail { node: index, failure });
        self.cancel_dependants(graph, index, actions);
    }

    /// Cancels what can no longer matter: nodes that depend on the failed one, and nodes whose every result goes
    /// there. Nodes that have begun, and nodes with effects of their own, continue.
    fn cancel_dependants(&mut self, graph: &Graph, failed: usize, actions: &mut Vec<MachineAction>) {
        let mut cancelled = vec![false; graph.nodes.len()];
        // By node: how many of its edges lead to nodes that still matter.
        let mut useful: Vec<usize> = graph.nodes.iter().map(|node| node.outgoing.len()).collect();
        mark(&mut cancelled, failed);
        let mut found = vec![failed];
        while let Some(node) = found.pop().and_then(|index| graph.nodes.get(index)) {
            let mut add = |index: usize, cancelled: &mut Vec<bool>| {
                if self.started.get(index) == Some(&false) && cancelled.get(index) == Some(&false) {
                    mark(cancelled, index);
                    found.push(index);
                }
            };
            for (_, edge) in graph.edges_of(node) {
                add(edge.to, &mut cancelled);
            }
            for edge in node.incoming.iter().filter_map(|edge| graph.edges.get(*edge)) {
                let Some(left) = useful.get_mut(edge.from) else { continue };
                *left = left.saturating_sub(1);
                let has_effects = graph.nodes.get(edge.from).is_some_and(|node| node.effects);
                if *left == 0 && !has_effects {
                    add(edge.from, &mut cancelled);
                }
            }
        }
        let failed_id = graph.nodes.get(failed).map_or("", |node| node.id.as_str());
        for (index, node) in graph.nodes.iter().enumerate() {
            if cancelled.get(index) == Some(&true) && self.started.get(index) == Some(&false) {
                mark(&mut self.started, index);
                self.settle_all(graph, node, &format!("`{}` was cancelled", node.id));
                actions.push(MachineAction::Cancel { node: index, reason: format!("`{failed_id}` failed") });
            }
        }
    }
}

fn mark(flags: &mut [bool], index: usize) {
    if let Some(flag) = flags.get_mut(index) {
        *flag = true;
    }
}
