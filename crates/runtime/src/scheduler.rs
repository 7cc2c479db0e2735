//! Dataflow scheduling: a node starts as soon as every edge into it is settled.
//!
//! Invariants: every node ends in exactly one of ok, error, skipped or cancelled; results do not depend
//! on timing, because a node sees only settled edges; ties are broken by document order.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use crate::Failure;
use crate::edges::Signal;
use crate::failure::Kind;
use crate::journal::{Question, StepRecord};
use crate::plan::{Node, OUTPUT, Plan};
use crate::report::{NodeReport, RunFailure, Status};
use crate::run::Run;
use crate::task::{Finished, Stop};

/// How often a run looks whether someone wants it to end, besides after each step.
const CANCELLATION_CHECKS: Duration = Duration::from_secs(1);

/// The state of the graph while a run goes on.
#[derive(Debug)]
pub(crate) struct Progress {
    /// By edge: `None` until its source is done.
    pub(crate) signals: Vec<Option<Signal>>,
    /// By node, in a workflow: what later steps can name.
    pub(crate) results: Vec<Option<Value>>,
    started: Vec<bool>,
    /// By node: how many edges it still waits for, those of the nodes it may run included.
    unsettled: Vec<usize>,
    /// The nodes that wait for no edge any more and have not been looked at, in document order.
    ready: BTreeSet<usize>,
    failed: Option<RunFailure>,
    /// The nodes that wait for a person.
    pub(crate) waiting: Vec<usize>,
    /// The nodes with effects that are at work.
    effects: Vec<usize>,
    /// Why no further node starts.
    stop: Option<Stop>,
}

/// A node that can start, and what reaches it.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) node: usize,
    pub(crate) inputs: Object,
    /// The inputs that edges bring to the nodes it may call as tools.
    pub(crate) tool_inputs: Vec<(usize, Object)>,
}

/// The inputs of a node that can start, or why it never will.
enum Readiness {
    Ready(Object),
    Skip(String),
    Conflict(Failure),
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Progress {
        let incoming = |index: &usize| plan.nodes.get(*index).map_or(0, |node| node.incoming.len());
        let unsettled: Vec<usize> = plan
            .nodes
            .iter()
            .map(|node| node.incoming.len() + node.tools.iter().map(incoming).sum::<usize>())
            .collect();
        let free = unsettled.iter().enumerate().filter(|(_, left)| **left == 0);
        Progress {
            signals: vec![None; plan.edges.len()],
            results: vec![None; plan.nodes.len()],
            started: plan.nodes.iter().map(|node| node.tool).collect(),
            ready: free.map(|(index, _)| index).collect(),
            unsettled,
            failed: None,
            waiting: Vec::new(),
            effects: Vec::new(),
            stop: None,
        }
    }

    /// Says what an edge carries. Nodes that wait for no further edge become ready.
    fn settle(&mut self, plan: &Plan, edge: usize, signal: Signal) {
        let Some(slot) = self.signals.get_mut(edge) else { return };
        let is_first = slot.is_none();
        *slot = Some(signal);
        let target = plan.edges.get(edge).filter(|_| is_first).map(|edge| edge.to);
        let Some((index, node)) = target.and_then(|index| Some((index, plan.nodes.get(index)?))) else {
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
}

impl Run<'_> {
    /// Runs the graph from what is already known of it, and gives the response, or the failure that ended
    /// it.
    pub(crate) async fn drive(&self, known: Vec<StepRecord>) -> Result<Result<Value, RunFailure>, Stop> {
        let plan = self.plan;
        let mut progress = Progress::new(plan);
        self.restore(known, &mut progress);
        self.restore_spending();
        self.restore_volume();
        let mut cancellation = tokio::time::interval(CANCELLATION_CHECKS);
        cancellation.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        cancellation.reset();
        let mut stopping = self.stopping.clone();
        let mut tasks = FuturesUnordered::new();
        loop {
            while tasks.len() < self.services.limits.parallel_steps && progress.stop.is_none() {
                let Some(ready) = self.next_ready(&mut progress) else { break };
                let Some(node) = plan.nodes.get(ready.node) else { continue };
                if node.effects {
                    progress.effects.push(ready.node);
                }
                let task = self.task(ready.node, node, ready.inputs, ready.tool_inputs);
                tasks.push(async move { (ready.node, task.await) });
            }
            let finished = loop {
                tokio::select! {
                    finished = tasks.next() => break finished,
                    _ = cancellation.tick(), if self.services.journal.is_durable() && progress.stop.is_none() => {
                        // A journal that cannot be read says nothing; the next look may.
                        if self.services.journal.is_cancelled(&self.id).await.unwrap_or_default() {
                            self.stop(&mut progress, Stop::Cancelled);
                        }
                    }
                    () = stopped(&mut stopping), if progress.stop.is_none() => {
                        self.stop(&mut progress, Stop::Interrupted);
                    }
                }
                // What has effects is let finish, so that it is known what it came to.
                if progress.stop.is_some() && progress.effects.is_empty() {
                    break None;
                }
            };
            if let Some((index, _)) = &finished {
                progress.effects.retain(|effect| effect != index);
            }
            match finished {
                Some((_, Ok(finished))) => self.take(finished, &mut progress),
                Some((_, Err(stop @ (Stop::Cancelled | Stop::Interrupted)))) => {
                    self.stop(&mut progress, stop);
                }
                Some((_, Err(stop))) => return Err(stop),
                None => break,
            }
            if progress.effects.is_empty()
                && let Some(stop) = progress.stop.take()
            {
                return Err(stop);
            }
        }
        if let Some(stop) = progress.stop.take() {
            return Err(stop);
        }
        self.conclude(&mut progress).map_err(Stop::Waiting)
    }

    /// Lets nothing further begin, at the top or inside a step. The first reason stands, but for a cancellation.
    fn stop(&self, progress: &mut Progress, stop: Stop) {
        self.halt();
        if progress.stop.is_none() || matches!(stop, Stop::Cancelled) {
            progress.stop = Some(stop);
        }
    }

    /// The next node that can start, with what reaches it. The first of the document comes first. Nodes that
    /// never will are skipped on the way, which may make an earlier one ready.
    pub(crate) fn next_ready(&self, progress: &mut Progress) -> Option<Ready> {
        while let Some(index) = progress.ready.pop_first() {
            let Some(node) = self.plan.nodes.get(index) else { continue };
            if progress.started.get(index) != Some(&false) || node.id == OUTPUT {
                continue;
            }
            mark(&mut progress.started, index);
            match self.readiness(node, progress) {
                Readiness::Ready(inputs) => {
                    let tool_inputs = self.tool_inputs(node, progress);
                    return Some(Ready { node: index, inputs, tool_inputs });
                }
                Readiness::Skip(reason) => self.skip(index, node, reason, progress),
                Readiness::Conflict(failure) => self.conflict(index, node, failure, progress),
            }
        }
        None
    }

    /// What the run came to once nothing is at work and nothing can start; the nodes that wait for a person,
    /// when some do.
    pub(crate) fn conclude(&self, progress: &mut Progress) -> Result<Result<Value, RunFailure>, Vec<String>> {
        if !progress.waiting.is_empty() && progress.failed.is_none() {
            progress.waiting.sort_unstable();
            let nodes = progress.waiting.iter().filter_map(|index| self.plan.nodes.get(*index));
            return Err(nodes.flat_map(|node| self.asked_by(&node.id)).collect());
        }
        Ok(match progress.failed.take() {
            Some(failed) => Err(failed),
            None => self.response(progress).and_then(|output| self.bounded_output(output)),
        })
    }

    /// The executions that ask a person below a node, as people name them.
    fn asked_by(&self, node: &str) -> Vec<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_below =
            |path: &str| path.strip_prefix(node).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let asking: Vec<String> =
            asked.values().filter(|question| is_below(&question.path)).map(Question::address).collect();
        if asking.is_empty() { vec![node.to_owned()] } else { asking }
    }

    /// Takes up what the journal knows: every step with a result is done, and its edges are settled.
    pub(crate) fn restore(&self, known: Vec<StepRecord>, progress: &mut Progress) {
        let known: Vec<(usize, StepRecord)> =
            known.into_iter().filter_map(|record| Some((self.plan.index(&record.node)?, record))).collect();
        // All are marked first, so that the failure of one does not cancel another that is done.
        for (index, _) in &known {
            mark(&mut progress.started, *index);
        }
        for (index, record) in known {
            self.take_record(index, record, progress);
        }
        self.spending.add_all(&self.reports.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes up the result of one step.
    pub(crate) fn take_record(&self, index: usize, record: StepRecord, progress: &mut Progress) {
        let Some(node) = self.plan.nodes.get(index) else { return };
        let StepRecord { outputs, signals, unhandled, attempts, reports, .. } = record;
        for report in reports {
            if let Some(index) = self.plan.index(&report.id) {
                self.report(index, |known| *known = report);
            }
        }
        let result = self.result(node, &outputs, attempts);
        let unhandled = unhandled.map(|failure| self.run_failure(node, failure, attempts));
        self.take(Finished { node: index, signals, result, unhandled, waits: false }, progress);
    }

    /// Settles the edges of a finished node, and cancels what its failure makes pointless.
    pub(crate) fn take(&self, finished: Finished, progress: &mut Progress) {
        if finished.waits {
            progress.waiting.push(finished.node);
            return;
        }
        for (edge, signal) in finished.signals {
            progress.settle(self.plan, edge, signal);
        }
        if let Some(slot) = progress.results.get_mut(finished.node) {
            *slot = finished.result;
        }
        if let Some(failure) = finished.unhandled {
            progress.failed.get_or_insert(failure);
            self.cancel_dependants(finished.node, progress);
        }
    }

    pub(crate) fn edges_of<'n>(
        &'n self,
        node: &'n Node,
    ) -> impl Iterator<Item = (usize, &'n crate::plan::Edge)> {
        node.outgoing.iter().filter_map(|index| self.plan.edges.get(*index).map(|edge| (*index, edge)))
    }

    /// What follows from the edges into a node, all of which are settled.
    fn readiness(&self, node: &Node, progress: &Progress) -> Readiness {
        match self.gather(node, progress) {
            Err(failure) => Readiness::Conflict(failure),
            Ok((inputs, absent)) => match absent {
                Some(reason) => Readiness::Skip(reason),
                None => Readiness::Ready(inputs),
            },
        }
    }

    /// The values at a node's input ports, and why a required one is absent. Two active edges into one
    /// port are a failure that names both.
    fn gather(&self, node: &Node, progress: &Progress) -> Result<(Object, Option<String>), Failure> {
        if self.plan.is_workflow {
            return Ok(self.gather_transitions(node, progress));
        }
        let mut inputs = Object::with_capacity(node.inputs.len());
        let mut missing = None;
        for port in &node.inputs {
            let feeders: Vec<usize> = self.plan.feeders(node, Some(port.name())).collect();
            match self.sole_value(&feeders, &format!("{}.{}", node.id, port.name()), progress)? {
                Some(value) => {
                    inputs.insert(port.name().to_owned(), value);
                }
                None if port.port.optional => {}
                None => {
                    let reasons: Vec<&str> = feeders
                        .iter()
                        .filter_map(|edge| match signal(progress, *edge) {
                            Some(Signal::Inactive(reason)) => Some(reason.as_str()),
                            _ => None,
                        })
                        .collect();
                    let why =
                        if reasons.is_empty() { "nothing feeds it".to_owned() } else { reasons.join("; ") };
                    missing.get_or_insert(format!("input `{}` is absent: {why}", port.name()));
                }
            }
        }
        Ok((inputs, missing))
    }

    fn sole_value(
        &self,
        feeders: &[usize],
        target: &str,
        progress: &Progress,
    ) -> Result<Option<Value>, Failure> {
        let mut found: Option<(usize, &Value)> = None;
        for edge in feeders {
            let Some(Signal::Active(value)) = signal(progress, *edge) else { continue };
            if let Some((first, _)) = found {
                let names = [first, *edge].map(|edge| self.edge_name(edge)).join(" and ");
                let message = format!("`{target}` received two values: {names}");
                let origin = self.plan.edges.get(*edge).and_then(|edge| edge.origin);
                return Err(Failure::new(codes::MULTIPLE_VALUES, Kind::Value, message).at(origin));
            }
            found = Some((*edge, value));
        }
        Ok(found.map(|(_, value)| value.clone()))
    }

    fn edge_name(&self, edge: usize) -> String {
        let Some(edge) = self.plan.edges.get(edge) else { return String::new() };
        let source = self.plan.nodes.get(edge.from).map_or("", |node| node.id.as_str());
        let port = edge.from_port.as_deref().unwrap_or_default();
        match edge.origin {
            Some(origin) => format!("`{source}.{port}` (line {})", origin.line),
            None => format!("`{source}.{port}`"),
        }
    }

    /// The report of a node as it stands, and those of the nodes it may call as tools and has called.
    pub(crate) fn reports_with_tools(&self, index: usize, node: &Node) -> Vec<NodeReport> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = node.tools.iter().filter_map(|tool| reports.get(*tool));
        let called = tools.filter(|report| report.status != Status::Waiting);
        reports.get(index).into_iter().chain(called).cloned().collect()
    }

    /// The reports of a node that waits for a person and of the nodes that it has called.
    pub(crate) fn reports_of_waiting(&self, index: usize, node: &Node) -> Vec<NodeReport> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = node.tools.iter().filter_map(|tool| reports.get(*tool));
        let called = tools.filter(|report| report.status != Status::Waiting || report.reason.is_some());
        reports.get(index).into_iter().chain(called).cloned().collect()
    }

    fn tool_inputs(&self, node: &Node, progress: &Progress) -> Vec<(usize, Object)> {
        let inputs = node.tools.iter().filter_map(|index| {
            let tool = self.plan.nodes.get(*index)?;
            Some((*index, self.gather(tool, progress).ok()?.0))
        });
        inputs.collect()
    }

    fn skip(&self, index: usize, node: &Node, reason: String, progress: &mut Progress) {
        for edge in &node.outgoing {
            progress.settle(self.plan, *edge, Signal::Inactive(format!("`{}` was skipped", node.id)));
        }
        self.report(index, |report| {
            report.status = Status::Skipped;
            report.reason = Some(reason);
        });
        self.told(index);
    }

    fn conflict(&self, index: usize, node: &Node, failure: Failure, progress: &mut Progress) {
        for edge in &node.outgoing {
            progress.settle(self.plan, *edge, Signal::Inactive(format!("`{}` failed", node.id)));
        }
        self.report(index, |report| {
            report.status = Status::Error;
            report.failure = Some(failure.clone());
        });
        progress.failed.get_or_insert(self.run_failure(node, failure, 0));
        self.cancel_dependants(index, progress);
    }

    /// Cancels what can no longer matter: nodes that depend on the failed one, and nodes whose every
    /// result goes there. What has begun, and what has effects of its own, goes on.
    fn cancel_dependants(&self, failed: usize, progress: &mut Progress) {
        let mut doomed = vec![false; self.plan.nodes.len()];
        mark(&mut doomed, failed);
        let mut grew = true;
        while grew {
            grew = false;
            for (index, node) in self.plan.nodes.iter().enumerate() {
                let free = progress.started.get(index) == Some(&false) && doomed.get(index) == Some(&false);
                if !free {
                    continue;
                }
                let is_doomed = |node: usize| doomed.get(node) == Some(&true);
                let depends = node.incoming.iter().filter_map(|edge| self.plan.edges.get(*edge));
                let depends = depends.into_iter().any(|edge| is_doomed(edge.from));
                let feeds: Vec<bool> = self.edges_of(node).map(|(_, edge)| is_doomed(edge.to)).collect();
                let only_feeds = !feeds.is_empty() && feeds.iter().all(|doomed| *doomed) && !node.effects;
                if depends || only_feeds {
                    mark(&mut doomed, index);
                    grew = true;
                }
            }
        }
        let failed_id = self.plan.nodes.get(failed).map_or("", |node| node.id.as_str());
        for (index, node) in self.plan.nodes.iter().enumerate() {
            if doomed.get(index) == Some(&true) && progress.started.get(index) == Some(&false) {
                mark(&mut progress.started, index);
                for edge in &node.outgoing {
                    let reason = format!("`{}` was cancelled", node.id);
                    progress.settle(self.plan, *edge, Signal::Inactive(reason));
                }
                self.report(index, |report| {
                    report.status = Status::Cancelled;
                    report.reason = Some(format!("`{failed_id}` failed"));
                });
            }
        }
    }

    /// The response: the whole value that reached `_output`, or an object of the fields that did.
    fn response(&self, progress: &Progress) -> Result<Value, RunFailure> {
        if self.plan.is_workflow {
            return Ok(self.workflow_response(progress));
        }
        let Some(output) = self.plan.index(OUTPUT).and_then(|index| self.plan.nodes.get(index)) else {
            return Ok(Value::Null);
        };
        let fail = |failure: Failure| RunFailure { failure, node: None, attempts: 0 };
        let whole: Vec<usize> = self.plan.feeders(output, None).collect();
        if !whole.is_empty()
            && let Some(value) = self.sole_value(&whole, OUTPUT, progress).map_err(fail)?
        {
            return Ok(value);
        }
        let mut fields = Object::new();
        for edge in output.incoming.iter().filter_map(|edge| self.plan.edges.get(*edge)) {
            let Some(field) = edge.to_port.as_deref().filter(|field| !fields.contains_key(*field)) else {
                continue;
            };
            let feeders: Vec<usize> = self.plan.feeders(output, Some(field)).collect();
            let target = format!("{OUTPUT}.{field}");
            if let Some(value) = self.sole_value(&feeders, &target, progress).map_err(fail)? {
                fields.insert(field.to_owned(), value);
            }
        }
        if !fields.is_empty() {
            return Ok(Value::Object(fields));
        }
        let reasons = output.incoming.iter().filter_map(|edge| match signal(progress, *edge) {
            Some(Signal::Inactive(reason)) => Some(format!("{}: {reason}", self.edge_name(*edge))),
            _ => None,
        });
        let reasons: Vec<String> = reasons.collect();
        let why =
            if reasons.is_empty() { "nothing leads to `_output`".to_owned() } else { reasons.join("; ") };
        let message = format!("no output was produced: {why}");
        Err(fail(Failure::new(codes::OUTPUT_NOT_REACHED, Kind::Value, message)))
    }

    pub(crate) fn run_failure(&self, node: &Node, failure: Failure, attempts: u32) -> RunFailure {
        RunFailure { failure: failure.at(node.origin), node: Some(node.id.clone()), attempts }
    }
}

fn signal(progress: &Progress, edge: usize) -> Option<&Signal> {
    progress.signals.get(edge).and_then(Option::as_ref)
}

fn mark(flags: &mut [bool], index: usize) {
    if let Some(flag) = flags.get_mut(index) {
        *flag = true;
    }
}

/// Waits until the process is to end; for ever when nobody could say so any more.
async fn stopped(stopping: &mut tokio::sync::watch::Receiver<bool>) {
    if stopping.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
