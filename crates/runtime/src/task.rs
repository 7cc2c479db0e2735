//! One node's task: execute it, settle its edges, write it down.
//!
//! Invariant: what a task hands back is durable, when the journal is.

use std::sync::PoisonError;

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_exec::On;

use crate::edges::Signal;
use crate::failure::{Failure, Kind};
use crate::journal::{Going, JournalError, StepRecord};
use crate::plan::{INPUT, Node};
use crate::report::{RunFailure, Status};
use crate::run::{Outcome, Run};
use crate::state::{Commit, StateError};
use crate::transitions;
use crate::turns::RecordTurn;

/// How often a step is done again because another run changed its record in the meantime.
pub const STATE_CONFLICTS: u32 = 64;

/// What a node's task hands back: its signals, and the failure that nothing handled.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) node: usize,
    pub(crate) signals: Vec<(usize, Signal)>,
    /// In a workflow: what later steps can name.
    pub(crate) result: Option<Value>,
    pub(crate) unhandled: Option<RunFailure>,
    /// Whether it waits for a person and so has not settled its edges.
    pub(crate) waits: bool,
}

/// Why a run stops although its graph is not done.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What happened cannot be written down, so nothing more may happen.
    Journal(JournalError),
    Cancelled,
    /// The process is to end; what has a result is kept.
    Interrupted,
    /// These nodes wait for a person, and nothing else can go on.
    Waiting(Vec<String>),
}

/// Why a result was not written down.
enum Unwritten {
    /// The step has to be done again on what is remembered by now.
    Conflict,
    /// The step failed after all.
    Failed(Failure),
    Stop(Stop),
}

/// What a node's work came to, before it is written down.
#[derive(Debug)]
pub(crate) enum Work {
    /// It waits for a person, and the step says for what.
    Waits,
    Done(Box<StepRecord>, Option<Commit>),
}

impl Run<'_> {
    pub(crate) async fn task(
        &self,
        index: usize,
        node: &Node,
        inputs: Object,
        tool_inputs: Vec<(usize, Object)>,
    ) -> Result<Finished, Stop> {
        let _turn = self.record_turn(node, &inputs).await;
        let mut conflicts = 0;
        loop {
            let (record, commit) = match self.work(index, node, &inputs, &tool_inputs).await? {
                Work::Done(record, commit) => (*record, commit),
                Work::Waits => {
                    return Ok(Finished {
                        node: index,
                        signals: Vec::new(),
                        result: None,
                        unhandled: None,
                        waits: true,
                    });
                }
            };
            match self.write(index, node, record, commit).await {
                Ok(finished) => return Ok(finished),
                Err(Unwritten::Conflict) if conflicts < STATE_CONFLICTS => conflicts += 1,
                Err(Unwritten::Conflict) => return self.fail(index, node, too_many_conflicts()).await,
                Err(Unwritten::Failed(failure)) => return self.fail(index, node, failure).await,
                Err(Unwritten::Stop(stop)) => return Err(stop),
            }
        }
    }

    /// Waits for the node's turn at its state record and holds it until the result is written. The nodes that a step
    /// calls as tools have none of their own, so that a step never waits for itself.
    async fn record_turn(&self, node: &Node, inputs: &Object) -> Option<RecordTurn<'_>> {
        node.state.as_ref()?;
        // A key that cannot be filled fails the step when it is attempted.
        let key = self.record_key(node, inputs).ok()?;
        let turns = self.services.state.turns(&key).unwrap_or(&self.turns.records);
        Some(turns.take(key).await)
    }

    /// Does a node's work once and settles its edges. Nothing of it is written down.
    pub(crate) async fn work(
        &self,
        index: usize,
        node: &Node,
        inputs: &Object,
        tool_inputs: &[(usize, Object)],
    ) -> Result<Work, Stop> {
        let mut outcome = self.execute(index, node, inputs, tool_inputs, &node.id, self.span).await;
        if let Some(error) = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(Stop::Journal(error));
        }
        match &outcome.outputs {
            Err(failure) if failure.kind == Kind::Waiting => return Ok(Work::Waits),
            Err(failure) if failure.kind == Kind::Interrupted => return Err(Stop::Interrupted),
            _ => {}
        }
        let commit = outcome.commit.take();
        Ok(Work::Done(Box::new(self.settled(index, node, outcome).await), commit))
    }

    /// The record of a node whose own work was done and that fails after all.
    pub(crate) async fn failed(&self, index: usize, node: &Node, failure: Failure) -> StepRecord {
        let failure = failure.at(node.origin);
        self.report(index, |report| {
            report.status = Status::Error;
            report.failure = Some(failure.clone());
        });
        let attempts = self.attempts(index);
        self.settled(index, node, Outcome { outputs: Err(failure), attempts, commit: None }).await
    }

    async fn fail(&self, index: usize, node: &Node, failure: Failure) -> Result<Finished, Stop> {
        let record = self.failed(index, node, failure).await;
        self.write(index, node, record, None).await.map_err(|unwritten| match unwritten {
            Unwritten::Stop(stop) => stop,
            // A failure is small and remembers nothing.
            Unwritten::Conflict => Stop::Journal(JournalError::StateConflict),
            Unwritten::Failed(failure) => Stop::Journal(JournalError::Damaged(failure.message.clone())),
        })
    }

    /// What a node came to, with everything that follows from it.
    async fn settled(&self, index: usize, node: &Node, outcome: Outcome) -> StepRecord {
        let (signals, unhandled) = self.settle_edges(index, node, &outcome).await;
        let reports = if self.keeps(node) { self.reports_with_tools(index, node) } else { Vec::new() };
        let Outcome { outputs, attempts, .. } = outcome;
        StepRecord { node: node.id.clone(), outputs, signals, unhandled, attempts, reports }
    }

    /// Whether the journal keeps what a node comes to. The request is written down with the run's beginning,
    /// and its fields follow from it.
    fn keeps(&self, node: &Node) -> bool {
        node.id != INPUT && self.services.journal.is_durable()
    }

    /// Writes a record down, with the state that belongs to it.
    async fn write(
        &self,
        index: usize,
        node: &Node,
        record: StepRecord,
        commit: Option<Commit>,
    ) -> Result<Finished, Unwritten> {
        let commit = self.commit_apart(commit).await.map_err(|error| match error {
            StateError::Conflict => Unwritten::Conflict,
            other => Unwritten::Failed(state_failure(other.to_string())),
        })?;
        if self.keeps(node) {
            match self.services.journal.record(&self.id, &record, commit).await {
                Ok(Going::On) => {}
                Ok(Going::Cancelled) => return Err(Unwritten::Stop(Stop::Cancelled)),
                Err(JournalError::StateConflict) => return Err(Unwritten::Conflict),
                Err(error @ JournalError::TooLarge { .. }) => {
                    return Err(Unwritten::Failed(too_large(&error)));
                }
                Err(error) => return Err(Unwritten::Stop(Stop::Journal(error))),
            }
        }
        let StepRecord { outputs, signals, unhandled, attempts, .. } = record;
        let unhandled = unhandled.map(|failure| self.run_failure(node, failure, attempts));
        let result = self.result(node, &outputs, attempts);
        Ok(Finished { node: index, signals, result, unhandled, waits: false })
    }

    /// What the edges out of a node carry, and the failure that none of them took.
    async fn settle_edges(
        &self,
        index: usize,
        node: &Node,
        outcome: &Outcome,
    ) -> (Vec<(usize, Signal)>, Option<Failure>) {
        let mut signals = Vec::with_capacity(node.outgoing.len());
        let mut unhandled = None;
        match &outcome.outputs {
            Ok(outputs) => {
                for (edge_index, edge) in self.edges_of(node) {
                    let signal = match edge.on {
                        On::Failure => Ok(Signal::Inactive(format!("`{}` did not fail", node.id))),
                        On::Success => self.signal(edge, node, outputs).await,
                    };
                    let signal = signal.unwrap_or_else(|failure| {
                        // The failure itself stands in the report of its node, which is hidden with what it reads.
                        let reason = format!("an edge out of `{}` failed", node.id);
                        self.report(index, |report| {
                            report.status = Status::Error;
                            report.failure = Some(failure.clone());
                        });
                        unhandled.get_or_insert(failure);
                        Signal::Inactive(reason)
                    });
                    signals.push((edge_index, signal));
                }
            }
            Err(failure) => {
                let error = failure.to_error_value(&node.id, outcome.attempts);
                let mut handled = false;
                for (edge_index, edge) in self.edges_of(node) {
                    let signal = match edge.on {
                        On::Success => Signal::Inactive(format!("`{}` failed", node.id)),
                        On::Failure => {
                            handled = true;
                            self.error_signal(edge, node, &error).await
                        }
                    };
                    signals.push((edge_index, signal));
                }
                // A refusal is never handled away: what a rule forbids must not look like a mishap, and a run
                // without budget must not spend more on its error route.
                if !handled || matches!(failure.kind, Kind::Refused | Kind::Budget) {
                    unhandled = Some(failure.clone());
                }
            }
        }
        (signals, unhandled)
    }

    /// In a workflow: what later steps can name of this one.
    pub(crate) fn result(
        &self,
        node: &Node,
        outputs: &Result<Object, Failure>,
        attempts: u32,
    ) -> Option<Value> {
        self.plan.is_workflow.then(|| match outputs {
            Ok(outputs) => transitions::succeeded(outputs),
            Err(failure) => transitions::failed(failure.to_error_value(&node.id, attempts)),
        })
    }

    async fn error_signal(&self, edge: &crate::plan::Edge, node: &Node, error: &Value) -> Signal {
        if self.plan.is_workflow {
            return Signal::Active(Value::Null);
        }
        let port = edge.from_port.clone().unwrap_or_default();
        let outputs: Object = [(port, error.clone())].into_iter().collect();
        let signal = self.signal(edge, node, &outputs).await;
        signal.unwrap_or_else(|_| Signal::Inactive(format!("an edge out of `{}` failed", node.id)))
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
    Failure::new(codes::RESULT_TOO_LARGE, Kind::Value, error.to_string())
}

pub(crate) fn state_failure(message: String) -> Failure {
    Failure::new(codes::STATE_FAILED, Kind::Upstream, message)
}
