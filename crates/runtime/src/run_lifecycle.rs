//! How every run begins and ends, whichever engine drives it.

use std::time::Duration;

use stave_canon::{Timestamp, Value};
use stave_diag::codes::run as codes;
use stave_engine::{Failure, FailureKind, RunFailure, Signal};
use stave_exec::Document;
use stave_operations::{HUMAN_APPROVE, TRANSFORM_EACH};

use crate::journal::{CallRecord, Ending, JournalError, RunStatus, StepRecord, StoredRun, items};
use crate::plan::{Plan, PlannedNode};
use crate::report::{NodeReport, RunReport, Status};
use crate::request::RunRequest;
use crate::run::Run;
use crate::services::RunLimits;

/// The nodes before anything has happened.
pub(crate) fn waiting(plan: &Plan) -> Vec<NodeReport> {
    plan.nodes.iter().map(|node| NodeReport::waiting(&node.id, &node.kind, node.origin())).collect()
}

/// The request as the document wants it.
pub(crate) fn request_of(
    plan: &Plan,
    request: &Value,
    run_id: &str,
    arrived_at: Timestamp,
) -> Result<RunRequest, Failure> {
    let schema = &plan.document.inputs_schema;
    if plan.graph.reads_references() {
        RunRequest::of_workflow(request, schema, run_id, arrived_at)
    } else {
        RunRequest::new(request, schema, run_id, arrived_at)
    }
}

/// The longest that a run may take.
pub(crate) fn time_limit(document: &Document, limits: &RunLimits) -> Duration {
    match document.flow.timeout_ms {
        0 => limits.run,
        limit => limits.run.min(Duration::from_millis(limit.into())),
    }
}

/// The results that a replay takes over.
pub(crate) fn kept_steps(
    plan: &Plan,
    run: &str,
    steps: Vec<StepRecord>,
    from: Option<&str>,
) -> Result<Vec<StepRecord>, JournalError> {
    let index = |node: &str| {
        plan.index(node)
            .ok_or_else(|| JournalError::NoSuchNode { run: run.to_owned(), node: node.to_owned() })
    };
    let mut again = vec![false; plan.nodes.len()];
    let mut waiting = match from {
        Some(node) => vec![index(node)?],
        None => {
            let failed =
                steps.iter().filter(|step| step.result.outputs.is_err() || step.result.unhandled.is_some());
            failed.map(|step| index(&step.node)).collect::<Result<_, _>>()?
        }
    };
    mark_with_followers(plan, &mut again, &mut waiting);
    for (mark, is_unfinished) in again.iter_mut().zip(will_run(plan, &steps)) {
        *mark |= is_unfinished;
    }
    ask_again(plan, run, &steps, &mut again)?;
    let is_kept =
        |step: &StepRecord| plan.index(&step.node).is_some_and(|index| again.get(index) == Some(&false));
    Ok(steps.into_iter().filter(is_kept).map(reused).collect())
}

/// The nodes that the run had not reached when it ended, or that were at work: they run when it is replayed. A node
/// that was skipped has no record either, but nothing reached it.
fn will_run(plan: &Plan, steps: &[StepRecord]) -> Vec<bool> {
    let mut records: Vec<Option<&StepRecord>> = vec![None; plan.nodes.len()];
    for step in steps {
        if let Some(record) = plan.index(&step.node).and_then(|index| records.get_mut(index)) {
            *record = Some(step);
        }
    }
    let mut unfinished = vec![false; plan.nodes.len()];
    // A node is reached by nodes that were reached before it, so each pass finds the next ones.
    loop {
        let is_found = |index: usize, node: &PlannedNode, unfinished: &[bool]| {
            let reaches =
                |edge: &usize| {
                    let Some(from) = plan.graph.edges.get(*edge).map(|edge| edge.from) else { return false };
                    match records.get(from).copied().flatten() {
                        None => unfinished.get(from) == Some(&true),
                        Some(record) => record.result.signals.iter().any(|(signalled, signal)| {
                            signalled == edge && matches!(signal, Signal::Active(_))
                        }),
                    }
                };
            records.get(index) == Some(&None)
                && unfinished.get(index) == Some(&false)
                && (node.incoming.is_empty() && !node.is_tool() || node.incoming.iter().any(reaches))
        };
        let nodes = plan.nodes.iter().enumerate();
        let found: Vec<usize> = nodes
            .filter(|(index, node)| is_found(*index, node, &unfinished))
            .map(|(index, _)| index)
            .collect();
        if found.is_empty() {
            return unfinished;
        }
        for index in found {
            if let Some(mark) = unfinished.get_mut(index) {
                *mark = true;
            }
        }
    }
}

/// The finished items of lists that a replay takes over. Without a node to begin at, a step that failed continues with
/// the items that it had not finished; naming a node repeats all of its work.
pub(crate) fn kept_items(plan: &Plan, stored: &StoredRun, from: Option<&str>) -> Vec<CallRecord> {
    if from.is_some() {
        return Vec::new();
    }
    // What follows from a decision is done again, so the decision is made again, for every item. Items that also changed
    // something are finished work, and a replay that would repeat what follows from them is refused.
    let only_asks = |node: &PlannedNode| {
        let called = called_by(plan, node);
        called.iter().any(|node| asks(node)) && !called.iter().any(|node| acts(node))
    };
    // An item of a list that has changed since is not taken for this one: its inputs are a part of the record.
    let is_known = |item: &&CallRecord| {
        let node = plan.index(&item.node).and_then(|index| plan.nodes.get(index));
        node.is_some_and(|node| node.kind == TRANSFORM_EACH.name && !only_asks(node))
    };
    stored.items.iter().filter(is_known).cloned().map(items::reused).collect()
}

/// A step's record as a replay takes it over: the same result, marked, with nothing used for it.
fn reused(step: StepRecord) -> StepRecord {
    let reports = step.reports.into_iter().map(NodeReport::reused).collect();
    StepRecord { reports, ..step }
}

fn asks(node: &PlannedNode) -> bool {
    node.kind == HUMAN_APPROVE.name
}

/// Whether a node changes something outside by itself. A step that calls others acts as they do.
fn acts(node: &PlannedNode) -> bool {
    node.effects && !asks(node)
}

/// The nodes that a node runs itself, and those that they run, at any depth.
fn called_by<'p>(plan: &'p Plan, node: &'p PlannedNode) -> Vec<&'p PlannedNode> {
    let mut seen = vec![false; plan.nodes.len()];
    let mut waiting = node.tools.clone();
    let mut called = Vec::new();
    while let Some(index) = waiting.pop() {
        let Some(next) = seen.get_mut(index).filter(|seen| !**seen).and_then(|seen| {
            *seen = true;
            plan.nodes.get(index)
        }) else {
            continue;
        };
        waiting.extend(&next.tools);
        called.push(next);
    }
    called
}

/// Marks nodes, everything that edges lead to from them, and the steps that run a marked node: its inputs are a part of
/// their work.
fn mark_with_followers(plan: &Plan, marked: &mut [bool], waiting: &mut Vec<usize>) {
    while let Some(node) = waiting.pop() {
        if let Some(mark) = marked.get_mut(node).filter(|mark| !**mark) {
            *mark = true;
            let outgoing = plan.nodes.get(node).map(|node| node.outgoing.as_slice()).unwrap_or_default();
            waiting.extend(outgoing.iter().filter_map(|edge| Some(plan.graph.edges.get(*edge)?.to)));
            let callers = plan.nodes.iter().enumerate().filter(|(_, caller)| caller.tools.contains(&node));
            waiting.extend(callers.map(|(index, _)| index));
        }
    }
}

/// A decision was made for one attempt of what follows from it. Where a step with effects is done again, the
/// decision before it is asked for again; when that would repeat effects that nobody wanted repeated, the replay is
/// refused.
fn ask_again(plan: &Plan, run: &str, records: &[StepRecord], again: &mut [bool]) -> Result<(), JournalError> {
    let asks_somewhere = |node: &PlannedNode| asks(node) || called_by(plan, node).into_iter().any(asks);
    let acts_somewhere = |node: &PlannedNode| acts(node) || called_by(plan, node).into_iter().any(acts);
    let at = |index: &usize| plan.nodes.get(*index);
    let kept = |again: &[bool], index: usize| again.get(index) == Some(&false);
    let recorded: Vec<usize> = records.iter().filter_map(|step| plan.index(&step.node)).collect();
    for asker in &recorded {
        let Some(node) = at(asker) else { continue };
        if !asks_somewhere(node) || !kept(again, *asker) {
            continue;
        }
        let mut after = vec![false; plan.nodes.len()];
        mark_with_followers(plan, &mut after, &mut vec![*asker]);
        let is_after = |index: usize| after.get(index) == Some(&true);
        let acting = plan
            .nodes
            .iter()
            .enumerate()
            .find(|(index, node)| is_after(*index) && !kept(again, *index) && acts_somewhere(node));
        let Some((_, acting)) = acting else { continue };
        let repeated = recorded
            .iter()
            .any(|index| is_after(*index) && kept(again, *index) && at(index).is_some_and(acts_somewhere));
        if repeated {
            let (run, acting, from) = (run.to_owned(), acting.id.clone(), node.id.clone());
            return Err(JournalError::DecisionUsed { run, node: acting, from });
        }
        for (index, mark) in again.iter_mut().enumerate() {
            *mark |= is_after(index);
        }
    }
    Ok(())
}

/// The report of a run that nothing was done for.
pub(crate) fn refused(
    run_id: &str,
    document: &Document,
    failure: Failure,
    nodes: Vec<NodeReport>,
) -> RunReport {
    RunReport {
        run_id: run_id.to_owned(),
        flow: document.flow.name.clone(),
        result: Err(RunFailure::of_run(failure)),
        nodes,
        duration: Duration::ZERO,
    }
}

/// The report of a run that has a result.
pub(crate) fn report_of(
    run: &Run<'_>,
    mut nodes: Vec<NodeReport>,
    result: Result<Value, RunFailure>,
    duration: Duration,
) -> RunReport {
    let is_waiting = matches!(&result, Err(failed) if failed.failure.kind == FailureKind::Waiting);
    for (node, report) in run.plan.nodes.iter().zip(&mut nodes) {
        if node.is_tool() && report.status == Status::Waiting && report.reason.is_none() {
            report.status = Status::Skipped;
            report.reason = Some("nothing called it".to_owned());
        }
    }
    let nodes = if is_waiting { nodes } else { finish(nodes, "the run ended before it") };
    let flow = run.plan.document.flow.name.clone();
    RunReport { run_id: run.id.clone(), flow, result, nodes, duration }
}

/// The end of a run cancels the nodes that it did not reach.
pub(crate) fn finish(mut nodes: Vec<NodeReport>, reason: &str) -> Vec<NodeReport> {
    for node in nodes.iter_mut().filter(|node| node.status == Status::Waiting) {
        node.status = Status::Cancelled;
        node.reason = Some(reason.to_owned());
    }
    nodes
}

/// Someone wanted the run to end.
pub(crate) fn cancelled() -> RunFailure {
    unfinished(FailureKind::Cancelled, "the run was cancelled".to_owned())
}

pub(crate) fn timed_out(limit: Duration) -> RunFailure {
    let message = format!("the run took longer than {} ms", limit.as_millis());
    RunFailure::of_run(Failure::new(codes::RUN_TIMEOUT, FailureKind::Timeout, message))
}

/// These nodes wait for a person.
pub(crate) fn waits_at(nodes: Vec<String>) -> RunFailure {
    let names: Vec<String> = nodes.iter().map(|node| format!("`{node}`")).collect();
    let message = format!("the run waits for a decision at {}", names.join(", "));
    RunFailure { node: nodes.into_iter().next(), ..unfinished(FailureKind::Waiting, message) }
}

/// The process is to end, and the run can continue in another.
pub(crate) fn interrupted() -> RunFailure {
    unfinished(FailureKind::Interrupted, "the process was asked to end".to_owned())
}

fn unfinished(kind: FailureKind, message: String) -> RunFailure {
    RunFailure::of_run(Failure::new(codes::RUN_STOPPED, kind, message))
}

impl RunReport {
    /// How the run ended; nothing when it continues later.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        match &self.result {
            Ok(output) => Some(Ending::Ok(output.clone())),
            Err(failed) => match failed.failure.kind {
                FailureKind::Waiting | FailureKind::Interrupted => None,
                FailureKind::Cancelled => Some(Ending::Cancelled),
                _ => Some(Ending::Failed(failed.clone())),
            },
        }
    }

    /// The status of the run, as far as its report says.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        match &self.result {
            Ok(_) => RunStatus::Ok,
            Err(failed) => match failed.failure.kind {
                FailureKind::Waiting => RunStatus::Waiting,
                FailureKind::Interrupted => RunStatus::Interrupted,
                FailureKind::Cancelled => RunStatus::Cancelled,
                _ => RunStatus::Error,
            },
        }
    }

    /// Whether the run waits for a person.
    #[must_use]
    pub fn waits(&self) -> bool {
        matches!(&self.result, Err(failed) if failed.failure.kind == FailureKind::Waiting)
    }

    /// The nodes that have no result, and why.
    #[must_use]
    pub fn idle(&self) -> Vec<NodeReport> {
        self.nodes.iter().filter(|node| node.is_idle()).cloned().collect()
    }

    /// The nodes that have no result of their own, and why: also those that a step without a result has called.
    #[must_use]
    pub(crate) fn without_result(&self, plan: &Plan) -> Vec<NodeReport> {
        let is_called = |report: &NodeReport| {
            plan.index(&report.id).and_then(|index| plan.nodes.get(index)).is_some_and(|node| node.is_tool())
        };
        self.nodes.iter().filter(|node| node.is_idle() || is_called(node)).cloned().collect()
    }
}
