//! One step: execute it, evaluate its edges, record its result.
//!
//! Invariant: what a task hands back is durable, when the journal is.

use std::sync::PoisonError;

use stave_canon::Object;
use stave_diag::codes::run as codes;
use stave_engine::{MachineEvent, Routes, Signal, StepResult, StepStart, Stopped};

use crate::concurrency_limits::RecordLock;
use crate::journal::{Going, JournalError, StepRecord};
use crate::plan::{INPUT, PlannedNode};
use crate::report::Status;
use crate::run::{Executed, Run};
use crate::state::{Commit, StateError};
use stave_engine::{Failure, FailureKind};

/// How often a step is done again because another run changed its record in the meantime.
pub const STATE_CONFLICTS: u32 = 64;

/// Why a step ends without a result.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What happened cannot be recorded, so nothing more may happen.
    Journal(JournalError),
    Run(Stopped),
}

/// Why a result was not recorded.
enum Unwritten {
    /// The step has to be done again on the state as it is by now.
    Conflict,
    /// The step failed after all.
    Failed(Failure),
    Stop(Stop),
}

/// A step that was executed, before its result is recorded.
#[derive(Debug)]
pub(crate) enum Settled {
    /// It waits for a person, and the step says for what.
    Waits,
    Done(Box<StepRecord>, Option<Commit>),
}

/// An expression of an edge failed, so the edge carries nothing.
struct EdgeFailed;

impl Run<'_> {
    /// Does a step, records its result and says what happened.
    pub(crate) async fn task(&self, start: StepStart) -> Result<MachineEvent, JournalError> {
        let index = start.node;
        match self.recorded(start).await {
            Ok(Some(result)) => Ok(MachineEvent::StepFinished { node: index, result: Box::new(result) }),
            Ok(None) => Ok(MachineEvent::StepWaits { node: index }),
            Err(Stop::Run(why)) => Ok(MachineEvent::Stopped { node: Some(index), why }),
            Err(Stop::Journal(error)) => Err(error),
        }
    }

    /// The result of a step once it is recorded; none when the step waits for a person.
    async fn recorded(&self, start: StepStart) -> Result<Option<StepResult>, Stop> {
        let StepStart { node: index, inputs, tool_inputs } = start;
        // The machine starts nodes of this plan only.
        let Some(node) = self.plan.nodes.get(index) else { return Ok(None) };
        let _lock = self.lock_record(node, &inputs).await;
        let mut conflicts = 0;
        loop {
            let (record, commit) = match self.work(index, node, &inputs, &tool_inputs).await? {
                Settled::Done(record, commit) => (*record, commit),
                Settled::Waits => return Ok(None),
            };
            match self.write(node, record, commit).await {
                Ok(result) => return Ok(Some(result)),
                Err(Unwritten::Conflict) if conflicts < STATE_CONFLICTS => conflicts += 1,
                Err(Unwritten::Conflict) => {
                    return self.fail(index, node, too_many_conflicts()).await.map(Some);
                }
                Err(Unwritten::Failed(failure)) => return self.fail(index, node, failure).await.map(Some),
                Err(Unwritten::Stop(stop)) => return Err(stop),
            }
        }
    }

    /// Locks the node's state record until the result is recorded. The nodes that a step calls as tools lock nothing of
    /// their own, so that a step never waits for itself.
    async fn lock_record(&self, node: &PlannedNode, inputs: &Object) -> Option<RecordLock<'_>> {
        node.state.as_ref()?;
        // A key that cannot be filled fails the step when it is attempted.
        let key = self.record_key(node, inputs).ok()?;
        let locks = self.services.state.locks(&key).unwrap_or(&self.concurrency.records);
        Some(locks.lock(key).await)
    }

    /// Does a node's work once and settles its edges. Nothing of it is written down.
    pub(crate) async fn work(
        &self,
        index: usize,
        node: &PlannedNode,
        inputs: &Object,
        tool_inputs: &[(usize, Object)],
    ) -> Result<Settled, Stop> {
        let mut executed = self.execute(index, node, inputs, tool_inputs, &node.id, self.span).await;
        if let Some(error) = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(Stop::Journal(error));
        }
        match &executed.outputs {
            Err(failure) if failure.kind == FailureKind::Waiting => return Ok(Settled::Waits),
            Err(failure) if failure.kind == FailureKind::Interrupted => {
                return Err(Stop::Run(Stopped::Interrupted));
            }
            _ => {}
        }
        let commit = executed.commit.take();
        Ok(Settled::Done(Box::new(self.settle(index, node, executed).await), commit))
    }

    /// The record of a node whose own work was done and that fails after all.
    pub(crate) async fn failed(&self, index: usize, node: &PlannedNode, failure: Failure) -> StepRecord {
        let failure = failure.at(node.origin());
        self.report(index, |report| {
            report.status = Status::Error;
            report.failure = Some(failure.clone());
        });
        let attempts = self.attempts(index);
        self.settle(index, node, Executed { outputs: Err(failure), attempts, commit: None }).await
    }

    async fn fail(&self, index: usize, node: &PlannedNode, failure: Failure) -> Result<StepResult, Stop> {
        let record = self.failed(index, node, failure).await;
        self.write(node, record, None).await.map_err(|unwritten| match unwritten {
            Unwritten::Stop(stop) => stop,
            // A failure is small and remembers nothing.
            Unwritten::Conflict => Stop::Journal(JournalError::StateConflict),
            Unwritten::Failed(failure) => Stop::Journal(JournalError::Damaged(failure.message.clone())),
        })
    }

    /// The record of an executed step: its result, and the reports of the node and of those it called.
    async fn settle(&self, index: usize, node: &PlannedNode, executed: Executed) -> StepRecord {
        let Executed { outputs, attempts, .. } = executed;
        let Routes { signals: carried, mut unhandled } = self.plan.graph.routes(node, &outputs, attempts);
        if let (Ok(_), Some(failure)) = (&outputs, &unhandled) {
            self.report_failed_edge(index, failure);
        }
        let (mut signals, mut failed) = (Vec::with_capacity(carried.len()), Vec::new());
        for (edge, signal) in carried {
            let blocked = self.plan.graph.else_is_blocked(edge, &signals, &failed);
            let signal = match (signal, blocked) {
                (Signal::Active(_), Some(reason)) => Signal::Inactive(reason),
                (signal, _) => signal,
            };
            let evaluated = self.evaluated(index, node, edge, signal, &outputs, &mut unhandled).await;
            if evaluated.is_err() {
                failed.push(edge);
            }
            // The failure itself is in the report of its node, which is hidden with what it reads.
            let inactive = || Signal::Inactive(format!("an edge out of `{}` failed", node.id));
            signals.push((edge, evaluated.unwrap_or_else(|EdgeFailed| inactive())));
        }
        signals.sort_by_key(|(edge, _)| *edge);
        let reports = if self.keeps(node) { self.reports.with_called(index, node) } else { Vec::new() };
        let result = StepResult { outputs, signals, unhandled, attempts };
        StepRecord { node: node.id.clone(), result, reports }
    }

    /// What an edge carries once its expressions are evaluated. The failure of an edge out of a step that succeeded is a
    /// failure of the step; an edge of the error route that fails carries nothing.
    async fn evaluated(
        &self,
        index: usize,
        node: &PlannedNode,
        edge: usize,
        signal: Signal,
        outputs: &Result<Object, Failure>,
        unhandled: &mut Option<Failure>,
    ) -> Result<Signal, EdgeFailed> {
        let Signal::Active(value) = signal else { return Ok(signal) };
        self.evaluate_edge(edge, node, value, outputs.as_ref().ok()).await.map_err(|failure| {
            if outputs.is_ok() {
                self.report_failed_edge(index, &failure);
                unhandled.get_or_insert(failure);
            }
            EdgeFailed
        })
    }

    /// The failure of an edge is a failure of its source.
    fn report_failed_edge(&self, index: usize, failure: &Failure) {
        self.report(index, |report| {
            report.status = Status::Error;
            report.failure = Some(failure.clone());
        });
    }

    /// Whether the journal keeps the result of a node. The request is written down with the run's beginning,
    /// and its fields follow from it.
    fn keeps(&self, node: &PlannedNode) -> bool {
        node.id != INPUT && self.services.journal.is_durable()
    }

    /// Records a result, with the state that belongs to it.
    async fn write(
        &self,
        node: &PlannedNode,
        record: StepRecord,
        commit: Option<Commit>,
    ) -> Result<StepResult, Unwritten> {
        let commit = self.commit_apart(commit).await.map_err(|error| match error {
            StateError::Conflict => Unwritten::Conflict,
            other => Unwritten::Failed(state_failure(other.to_string())),
        })?;
        if self.keeps(node) {
            match self.services.journal.record(&self.id, &record, commit).await {
                Ok(Going::On) => {}
                Ok(Going::Cancelled) => return Err(Unwritten::Stop(Stop::Run(Stopped::Cancelled))),
                Err(JournalError::StateConflict) => return Err(Unwritten::Conflict),
                Err(error @ JournalError::TooLarge { .. }) => {
                    return Err(Unwritten::Failed(too_large(&error)));
                }
                Err(error) => return Err(Unwritten::Stop(Stop::Journal(error))),
            }
        }
        Ok(record.result)
    }

    /// Commits state that lives apart from the journal. What lives in the journal's own file is given
    /// back, to be written together with the result.
    pub(crate) async fn commit_apart(&self, commit: Option<Commit>) -> Result<Option<Commit>, StateError> {
        let Some(commit) = commit else { return Ok(None) };
        let (state, journal) = (&self.services.state, &self.services.journal);
        let file = state.file(&commit.key);
        if file.is_some() && file == journal.file() {
            return Ok(Some(commit));
        }
        state.commit(commit).await?;
        Ok(None)
    }
}

/// A step whose record others changed again and again.
pub(crate) fn too_many_conflicts() -> Failure {
    state_failure(format!("other runs changed the record {STATE_CONFLICTS} times in a row"))
}

/// A step whose result is more than may be kept.
pub(crate) fn too_large(error: &JournalError) -> Failure {
    Failure::new(codes::RESULT_TOO_LARGE, FailureKind::Value, error.to_string())
}

pub(crate) fn state_failure(message: String) -> Failure {
    Failure::new(codes::STATE_FAILED, FailureKind::Upstream, message)
}
