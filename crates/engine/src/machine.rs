//! The run as a state machine: `apply(event)` changes the state and answers with the actions to perform.
//!
//! Invariants: an event that arrives after the end changes nothing; after a stop nothing starts, and the run ends once
//! no step with effects is at work.

use std::collections::BTreeSet;
use std::sync::Arc;

use stave_canon::{Object, Value};

use crate::failure::{Failure, RunFailure};
use crate::frame::Frame;
use crate::graph::Graph;
use crate::routes::StepResult;

/// What happened to a run.
#[derive(Debug)]
pub enum MachineEvent {
    /// These steps have results from before, in the order in which they were recorded.
    Restored(Vec<(usize, StepResult)>),
    /// Steps may start.
    Started,
    StepFinished {
        node: usize,
        result: Box<StepResult>,
    },
    /// A step waits for a person.
    StepWaits {
        node: usize,
    },
    /// What a waiting step asked is decided.
    Decided {
        node: usize,
    },
    /// The run is to end before its graph does. `node` is a step that ended without a result because of it.
    Stopped {
        node: Option<usize>,
        why: Stopped,
    },
}

/// Why a run ends before its graph does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Someone cancelled the run.
    Cancelled,
    /// The process is to end. The run can continue in another one.
    Interrupted,
}

/// What an executor has to do.
#[derive(Debug, PartialEq)]
pub enum MachineAction {
    /// Start a step, and report its result as [`MachineEvent::StepFinished`].
    Start(StepStart),
    /// Report that a node never starts.
    Skip { node: usize, reason: String },
    /// Report that a node is cancelled, because another one failed.
    Cancel { node: usize, reason: String },
    /// Report that a node failed before it could start.
    Fail { node: usize, failure: Failure },
    /// Let nothing further begin inside the steps that are at work.
    Halt,
    /// Nothing can be done until someone decides what these nodes ask.
    Rest { waiting: Vec<usize> },
    /// The run is over. Steps without effects that are still at work are dropped.
    End(RunEnd),
}

/// A node that can start, and what reaches it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepStart {
    pub node: usize,
    pub inputs: Object,
    /// The inputs that edges bring to the nodes it may run itself.
    pub tool_inputs: Vec<(usize, Object)>,
}

/// How a run ended.
#[derive(Debug, PartialEq)]
pub enum RunEnd {
    /// With a response, or with the failure that nothing handled.
    Finished(Result<Value, RunFailure>),
    Stopped(Stopped),
}

/// One run.
#[derive(Debug)]
pub struct Machine {
    graph: Arc<Graph>,
    frame: Frame,
    /// How many steps may be at work at once.
    parallel: usize,
    at_work: BTreeSet<usize>,
    is_started: bool,
    stopped: Option<Stopped>,
    has_ended: bool,
}

impl Machine {
    /// A run of a graph on the fields of a request. `parallel` bounds how many steps are at work at once.
    #[must_use]
    pub fn new(graph: Arc<Graph>, request: Object, parallel: usize) -> Machine {
        Machine {
            frame: Frame::new(&graph, request),
            graph,
            parallel: parallel.max(1),
            at_work: BTreeSet::new(),
            is_started: false,
            stopped: None,
            has_ended: false,
        }
    }

    /// Takes up what happened, and gives what has to be done now, in order.
    #[must_use]
    pub fn apply(&mut self, event: MachineEvent) -> Vec<MachineAction> {
        let mut actions = Vec::new();
        if self.has_ended {
            return actions;
        }
        match event {
            MachineEvent::Restored(results) => self.restore(results, &mut actions),
            MachineEvent::Started => self.is_started = true,
            MachineEvent::StepFinished { node, result } => {
                self.at_work.remove(&node);
                self.frame.finish(&self.graph, node, *result, &mut actions);
            }
            MachineEvent::StepWaits { node } => {
                self.at_work.remove(&node);
                self.frame.waiting.insert(node);
            }
            MachineEvent::Decided { node } => self.restart(node, &mut actions),
            MachineEvent::Stopped { node, why } => {
                if let Some(node) = node {
                    self.at_work.remove(&node);
                }
                self.stop(why, &mut actions);
            }
        }
        self.advance(&mut actions);
        actions
    }

    /// Whether someone wants the run to end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stopped.is_some()
    }

    fn restore(&mut self, results: Vec<(usize, StepResult)>, actions: &mut Vec<MachineAction>) {
        // All are marked first, so that the failure of one does not cancel another that is done.
        for (node, _) in &results {
            self.frame.mark_started(*node);
        }
        for (node, result) in results {
            self.frame.finish(&self.graph, node, result, actions);
        }
    }

    fn restart(&mut self, node: usize, actions: &mut Vec<MachineAction>) {
        if self.stopped.is_some() || !self.frame.waiting.remove(&node) {
            return;
        }
        if let Some(start) = self.frame.restart(&self.graph, node) {
            self.at_work.insert(node);
            actions.push(MachineAction::Start(start));
        }
    }

    /// The first reason counts, but a cancellation replaces an interruption.
    fn stop(&mut self, why: Stopped, actions: &mut Vec<MachineAction>) {
        if self.stopped.is_none() {
            actions.push(MachineAction::Halt);
        }
        if self.stopped.is_none() || why == Stopped::Cancelled {
            self.stopped = Some(why);
        }
    }

    fn advance(&mut self, actions: &mut Vec<MachineAction>) {
        if let Some(why) = self.stopped {
            // Steps with effects finish, so that their outcome is recorded.
            let has_effects = |index: &usize| self.graph.nodes.get(*index).is_some_and(|node| node.effects);
            if !self.at_work.iter().any(has_effects) {
                self.end(RunEnd::Stopped(why), actions);
            }
            return;
        }
        if !self.is_started {
            return;
        }
        while self.at_work.len() < self.parallel {
            let Some(start) = self.frame.next_start(&self.graph, actions) else { break };
            self.at_work.insert(start.node);
            actions.push(MachineAction::Start(start));
        }
        if self.at_work.is_empty() {
            self.conclude(actions);
        }
    }

    /// Nothing is at work and nothing can start.
    fn conclude(&mut self, actions: &mut Vec<MachineAction>) {
        let failed = self.frame.failed.take();
        if failed.is_none() && !self.frame.waiting.is_empty() {
            actions.push(MachineAction::Rest { waiting: self.frame.waiting.iter().copied().collect() });
            return;
        }
        let result = match failed {
            Some(failed) => Err(failed),
            None => self.graph.semantics.response(&self.graph, &self.frame).map_err(RunFailure::of_run),
        };
        self.end(RunEnd::Finished(result), actions);
    }

    fn end(&mut self, ending: RunEnd, actions: &mut Vec<MachineAction>) {
        self.has_ended = true;
        actions.push(MachineAction::End(ending));
    }
}
