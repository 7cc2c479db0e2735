//! Drives a run in this process: performs the actions of the state machine, and feeds it with what happens.

use std::sync::PoisonError;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use stave_canon::Value;
use stave_engine::{Machine, MachineAction, MachineEvent, RunEnd, RunFailure, Stopped};

use crate::journal::{JournalError, Question, StepRecord};
use crate::report::Status;
use crate::run::Run;
use crate::run_lifecycle;

/// How often a run looks whether someone wants it to end, besides after each step.
const CANCELLATION_CHECKS: Duration = Duration::from_secs(1);

/// What is left to an executor once the reports of nodes are written.
#[derive(Debug)]
pub(crate) enum Task {
    Start(stave_engine::StepStart),
    /// The run waits for a person at these nodes.
    Rest(Vec<usize>),
    End(RunEnd),
}

impl Run<'_> {
    /// Runs the graph from what is already known of it, and gives the response, or the failure that ended
    /// it.
    pub(crate) async fn drive(
        &self,
        known: Vec<StepRecord>,
    ) -> Result<Result<Value, RunFailure>, JournalError> {
        let parallel = self.services.limits.parallel_steps;
        let (mut machine, mut tasks) = self.machine(known, parallel);
        self.restore_spending();
        self.restore_volume();
        tasks.extend(self.perform(machine.apply(MachineEvent::Started)));
        let mut cancellation = tokio::time::interval(CANCELLATION_CHECKS);
        cancellation.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        cancellation.reset();
        let mut stopping = self.stopping.clone();
        let mut steps = FuturesUnordered::new();
        loop {
            for task in tasks {
                match task {
                    Task::Start(start) => steps.push(self.task(start)),
                    Task::Rest(nodes) => return Ok(Err(self.waits_at(&nodes))),
                    Task::End(ending) => return Ok(self.ended(ending)),
                }
            }
            let is_stoppable = !machine.is_stopping();
            let event = loop {
                tokio::select! {
                    Some(event) = steps.next() => break event?,
                    _ = cancellation.tick(), if self.services.journal.is_durable() && is_stoppable => {
                        // A journal that cannot be read says nothing; the next look may.
                        if self.services.journal.is_cancelled(&self.id).await.unwrap_or_default() {
                            break MachineEvent::Stopped { node: None, why: Stopped::Cancelled };
                        }
                    }
                    () = stopped(&mut stopping), if is_stoppable => {
                        break MachineEvent::Stopped { node: None, why: Stopped::Interrupted };
                    }
                    // A machine that has not ended has a step at work.
                    else => return Ok(Err(run_lifecycle::interrupted())),
                }
            };
            tasks = self.perform(machine.apply(event));
        }
    }

    /// The state machine of this run with the results that are known.
    pub(crate) fn machine(&self, known: Vec<StepRecord>, parallel: usize) -> (Machine, Vec<Task>) {
        let graph = std::sync::Arc::clone(&self.plan.graph);
        let mut machine = Machine::new(graph, self.request.fields.clone(), parallel);
        let known = known.into_iter().filter_map(|record| {
            let index = self.plan.index(&record.node)?;
            self.take_reports(record.reports);
            Some((index, record.result))
        });
        let known = MachineEvent::Restored(known.collect());
        let tasks = self.perform(machine.apply(known));
        self.reports.read_all(|reports| self.spending.add_all(reports));
        (machine, tasks)
    }

    /// Takes over the reports of a recorded step.
    pub(crate) fn take_reports(&self, reports: Vec<crate::NodeReport>) {
        for report in reports {
            if let Some(index) = self.plan.index(&report.id) {
                self.report(index, |known| *known = report);
            }
        }
    }

    /// Performs what concerns reports and halting, and gives what is left.
    pub(crate) fn perform(&self, actions: Vec<MachineAction>) -> Vec<Task> {
        let mut tasks = Vec::with_capacity(actions.len());
        for action in actions {
            match action {
                MachineAction::Start(start) => tasks.push(Task::Start(start)),
                MachineAction::Rest { waiting } => tasks.push(Task::Rest(waiting)),
                MachineAction::End(ending) => tasks.push(Task::End(ending)),
                MachineAction::Halt => self.halt(),
                MachineAction::Skip { node, reason } => {
                    self.report(node, |report| {
                        report.status = Status::Skipped;
                        report.reason = Some(reason);
                    });
                    self.notify(node);
                }
                MachineAction::Cancel { node, reason } => self.report(node, |report| {
                    report.status = Status::Cancelled;
                    report.reason = Some(reason);
                }),
                MachineAction::Fail { node, failure } => self.report(node, |report| {
                    report.status = Status::Error;
                    report.failure = Some(failure);
                }),
            }
        }
        tasks
    }

    /// The result of a run that is over.
    pub(crate) fn ended(&self, ending: RunEnd) -> Result<Value, RunFailure> {
        match ending {
            RunEnd::Finished(result) => result.and_then(|output| self.bounded_output(output)),
            RunEnd::Stopped(Stopped::Cancelled) => Err(run_lifecycle::cancelled()),
            RunEnd::Stopped(Stopped::Interrupted) => Err(run_lifecycle::interrupted()),
        }
    }

    /// The failure that says at which nodes the run waits for a person.
    pub(crate) fn waits_at(&self, nodes: &[usize]) -> RunFailure {
        let nodes = nodes.iter().filter_map(|index| self.plan.nodes.get(*index));
        run_lifecycle::waits_at(nodes.flat_map(|node| self.asked_by(&node.id)).collect())
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
}

/// Waits until the process is to end; for ever when nobody could say so any more.
async fn stopped(stopping: &mut tokio::sync::watch::Receiver<bool>) {
    if stopping.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
