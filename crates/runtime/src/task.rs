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

/// How often a step is done again because another run changed its record in the meantime.
pub(crate) const STATE_CONFLICTS: u32 = 64;

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
    /// What happened can not be written down, so nothing more may happen.
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

impl Run<'_> {
    pub(crate) async fn task(
        &self,
        index: usize,
        node: &Node,
        inputs: Object,
        tool_inputs: Vec<(usize, Object)>,
    ) -> Result<Finished, Stop> {
        let mut conflicts = 0;
        loop {
            let mut outcome = self.execute(index, node, &inputs, &tool_inputs, &node.id).await;
            if let Some(error) = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(Stop::Journal(error));
            }
            if matches!(&outcome.outputs, Err(failure) if failure.kind == Kind::Waiting) {
                return Ok(Finished {
                    node: index,
                    signals: Vec::new(),
                    result: None,
                    unhandled: None,
                    waits: true,
                });
            }
            let commit = outcome.commit.take();
            match self.settle_and_record(index, node, outcome, commit).await {
                Ok(finished) => return Ok(finished),
                Err(Unwritten::Conflict) if conflicts < STATE_CONFLICTS => conflicts += 1,
                Err(Unwritten::Conflict) => {
                    let message = format!("other runs changed the record {STATE_CONFLICTS} times in a row");
                    return self.fail(index, node, state_failure(message)).await;
                }
                Err(Unwritten::Failed(failure)) => return self.fail(index, node, failure).await,
                Err(Unwritten::Stop(stop)) => return Err(stop),
            }
        }
    }

    /// Lets a node fail whose own work was done.
    async fn fail(&self, index: usize, node: &Node, failure: Failure) -> Result<Finished, Stop> {
        let failure = failure.at(node.origin);
        self.report(index, |report| {
            report.status = Status::Error;
            report.failure = Some(failure.clone());
        });
        let attempts = self.attempts(index);
        let outcome = Outcome { outputs: Err(failure), attempts, commit: None };
        self.settle_and_record(index, node, outcome, None).await.map_err(|unwritten| match unwritten {
            Unwritten::Stop(stop) => stop,
            // A failure is small and remembers nothing.
            Unwritten::Conflict => Stop::Journal(JournalError::StateConflict),
            Unwritten::Failed(failure) => Stop::Journal(JournalError::Damaged(failure.message.clone())),
        })
    }

    async fn settle_and_record(
        &self,
        index: usize,
        node: &Node,
        outcome: Outcome,
        commit: Option<Commit>,
    ) -> Result<Finished, Unwritten> {
        let commit = self.commit_apart(commit).await.map_err(|error| match error {
            StateError::Conflict => Unwritten::Conflict,
            other => Unwritten::Failed(state_failure(other.to_string())),
        })?;
        let (signals, unhandled) = self.settle_edges(index, node, &outcome).await;
        let finished = |signals, unhandled: Option<Failure>| {
            let unhandled = unhandled.map(|failure| self.run_failure(node, failure, outcome.attempts));
            let result = self.result(node, &outcome.outputs, outcome.attempts);
            Finished { node: index, signals, result, unhandled, waits: false }
        };
        // The request is written down with the run's beginning, and its fields follow from it.
        if node.id == INPUT || !self.services.journal.is_durable() {
            return Ok(finished(signals, unhandled));
        }
        let record = StepRecord {
            node: node.id.clone(),
            outputs: outcome.outputs.clone(),
            signals,
            unhandled,
            attempts: outcome.attempts,
            reports: self.reports_with_tools(index, node),
        };
        match self.services.journal.record(&self.id, &record, commit).await {
            Ok(Going::On) => Ok(finished(record.signals, record.unhandled)),
            Ok(Going::Cancelled) => Err(Unwritten::Stop(Stop::Cancelled)),
            Err(JournalError::StateConflict) => Err(Unwritten::Conflict),
            Err(error @ JournalError::TooLarge { .. }) => Err(Unwritten::Failed(
                Failure::new(codes::RESULT_TOO_LARGE, Kind::Value, error.to_string()).at(node.origin),
            )),
            Err(error) => Err(Unwritten::Stop(Stop::Journal(error))),
        }
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
                        let reason = format!("the edge failed: {}", failure.message);
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
        signal.unwrap_or_else(|failure| Signal::Inactive(failure.message.clone()))
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

fn state_failure(message: String) -> Failure {
    Failure::new(codes::STATE_FAILED, Kind::Upstream, message)
}
