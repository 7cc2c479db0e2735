//! A run taken apart, for engines that keep its journal elsewhere: the graph is driven in one place, and each
//! step is done in another, perhaps on another machine.
//!
//! Invariants: what can start, what is skipped and what follows from a result is decided by the code that the
//! embedded engine runs; a graph that is given the same results in the same order starts the same steps in
//! the same order, because it reads no clock and waits for nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_canon::{Object, Timestamp, Value};
use stave_engine::{Failure, Machine, MachineEvent, RunFailure, StepStart, Stopped};
use stave_exec::Document;

use crate::budget::{Spending, Spent};
use crate::calls::Calls;
use crate::concurrency_limits::ConcurrencyLimits;
use crate::drive::Task;
use crate::journal::{CallRecord, Decision, JournalError, Question, StepRecord, Times};
use crate::node_reports::NodeReports;
use crate::plan::{INPUT, Plan};
use crate::report::{NodeReport, RunReport};
use crate::request::RunRequest;
use crate::run::{Decisions, Run};
use crate::run_lifecycle;
use crate::services::Services;
use crate::state::Commit;
use crate::steps::StepKinds;
use crate::task::{self, Settled, Stop};
use crate::trace::OptionalSpan;

pub use crate::task::STATE_CONFLICTS;

/// What one run is a run of.
#[derive(Debug)]
pub struct Interpreter {
    run_id: String,
    plan: Arc<Plan>,
    request: RunRequest,
    started_at: Timestamp,
    services: Services,
    concurrency: Arc<ConcurrencyLimits>,
    /// Steps that are done apart are not parts of one trace.
    span: OptionalSpan,
}

/// A run whose steps are done elsewhere: events go in, commands come out.
#[derive(Debug)]
pub struct Drive<'i> {
    run: Run<'i>,
    machine: Machine,
}

/// What an executor has to do.
#[derive(Debug)]
pub enum ExecutorCommand {
    /// Do a step.
    Step(Box<StepCall>),
    /// Nothing can be done until somebody decides; the failure says at which nodes.
    Rest(RunFailure),
    /// The run is over.
    End(Result<Value, RunFailure>),
}

/// A step that can be done.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCall {
    pub node: String,
    pub inputs: Object,
    /// The inputs that edges bring to the nodes it may call as tools.
    pub tool_inputs: Vec<(String, Object)>,
    /// The reports of those nodes.
    pub tool_reports: Vec<NodeReport>,
    /// What the run has used up.
    pub spent: Spent,
    /// Whether it may change something outside the run.
    pub effects: bool,
}

/// A step that was done once.
#[derive(Debug)]
pub enum StepDone {
    /// It waits for people, as the reports of the node and of those it runs say.
    Waits(Vec<NodeReport>, Vec<Question>),
    /// Its result, and the state it commits. Neither is recorded yet.
    Finished(Box<StepRecord>, Option<Commit>),
}

impl Interpreter {
    /// Makes a run of a plan ready; the report of one that is refused.
    pub fn new(
        services: Services,
        concurrency: Arc<ConcurrencyLimits>,
        plan: Arc<Plan>,
        run_id: &str,
        request: &Value,
        times: Times,
    ) -> Result<Interpreter, Box<RunReport>> {
        match run_lifecycle::request_of(&plan, request, run_id, times.arrived_at) {
            Ok(request) => {
                let (run_id, span) = (run_id.to_owned(), OptionalSpan::default());
                let started_at = times.started_at;
                Ok(Interpreter { run_id, plan, request, started_at, services, concurrency, span })
            }
            Err(failure) => {
                let nodes = run_lifecycle::finish(run_lifecycle::waiting(&plan), "the request was refused");
                Err(Box::new(run_lifecycle::refused(run_id, &plan.document, failure, nodes)))
            }
        }
    }

    /// The session whose state the run may change.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        let remembers =
            self.plan.nodes.iter().any(|node| node.state.as_ref().is_some_and(|state| state.session));
        self.request.session_id().filter(|_| remembers)
    }

    /// Whether steps remember something that ends with the run.
    #[must_use]
    pub fn has_run_state(&self) -> bool {
        self.plan.nodes.iter().any(|node| node.state.as_ref().is_some_and(|state| !state.session))
    }

    /// The longest that the run may take.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        run_lifecycle::time_limit(&self.plan.document, &self.services.limits)
    }

    /// How many steps may be done at the same time when `most` may. Steps that share a budget are done one after
    /// the other, so that each knows what those before it have left.
    fn parallel_steps(&self, most: usize) -> usize {
        if self.plan.policy.budget.is_shared() { 1 } else { most.max(1) }
    }

    /// The run as it is after these results, with at most so many steps at work at once.
    #[must_use]
    pub fn drive(&self, known: Vec<StepRecord>, parallel: usize) -> Drive<'_> {
        let reports = run_lifecycle::waiting(&self.plan);
        let run = self.run(reports, Spending::new(self.plan.policy.budget, Duration::ZERO));
        // Results alone start nothing and end nothing.
        let (machine, _) = run.machine(known, self.parallel_steps(parallel));
        Drive { run, machine }
    }

    /// Does a step once. An error says that it has to be done again.
    pub async fn step(
        &self,
        call: &StepCall,
        calls: Vec<CallRecord>,
        decisions: HashMap<String, Decision>,
    ) -> Result<StepDone, JournalError> {
        let (run, index) = self.run_of_step(call)?;
        let decisions = Decisions { made: decisions, ..Decisions::default() };
        let run = Run { calls: Calls::new(calls), decisions, ..run };
        run.restore_spending();
        run.restore_volume();
        let Some(node) = self.plan.nodes.get(index) else { return Err(self.unknown(&call.node)) };
        let tool_inputs: Vec<(usize, Object)> = call
            .tool_inputs
            .iter()
            .filter_map(|(tool, inputs)| Some((self.plan.index(tool)?, inputs.clone())))
            .collect();
        match run.work(index, node, &call.inputs, &tool_inputs).await {
            Ok(Settled::Waits) => {
                let reports = run.reports.of_waiting(index, node);
                let asked = run.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
                Ok(StepDone::Waits(reports, asked.into_values().collect()))
            }
            Ok(Settled::Done(record, commit)) => Ok(StepDone::Finished(record, commit)),
            Err(Stop::Journal(error)) => Err(error),
            Err(Stop::Run(_)) => Err(JournalError::Unreachable("the step was stopped".to_owned())),
        }
    }

    /// The record of a step that is given up: what it wanted remembered could not be kept.
    pub async fn give_up(&self, call: &StepCall, why: GivenUp) -> Result<StepRecord, JournalError> {
        let (run, index) = self.run_of_step(call)?;
        let Some(node) = self.plan.nodes.get(index) else { return Err(self.unknown(&call.node)) };
        let failure = match why {
            GivenUp::Conflicts => task::too_many_conflicts(),
            GivenUp::State(reason) => task::state_failure(reason),
            GivenUp::TooLarge { bytes, limit } => task::too_large(&JournalError::TooLarge { bytes, limit }),
        };
        Ok(run.failed(index, node, failure).await)
    }

    /// The run as one step sees it.
    fn run_of_step(&self, call: &StepCall) -> Result<(Run<'_>, usize), JournalError> {
        let index = self.plan.index(&call.node).ok_or_else(|| self.unknown(&call.node))?;
        let mut reports = run_lifecycle::waiting(&self.plan);
        for known in &call.tool_reports {
            if let Some(report) = self.plan.index(&known.id).and_then(|index| reports.get_mut(index)) {
                *report = known.clone();
            }
        }
        let clock = &self.services.clock;
        let before = clock.now().duration_since(self.started_at);
        let before = Duration::try_from(before).unwrap_or_default();
        let spending = Spending::going_on(self.plan.policy.budget, clock.elapsed(), before, call.spent);
        Ok((self.run(reports, spending), index))
    }

    fn run(&self, reports: Vec<NodeReport>, spending: Spending) -> Run<'_> {
        Run {
            id: self.run_id.clone(),
            plan: &self.plan,
            request: self.request.clone(),
            started_at: self.started_at,
            services: &self.services,
            reports: NodeReports::new(reports),
            calls: Calls::default(),
            decisions: Decisions::default(),
            asked: Mutex::default(),
            spending,
            span: &self.span,
            concurrency: &self.concurrency,
            // The driver of the graph decides when it stops.
            stopping: tokio::sync::watch::channel(false).1,
            halting: tokio::sync::watch::Sender::new(false),
            unwritten: Mutex::new(None),
        }
    }

    fn unknown(&self, node: &str) -> JournalError {
        JournalError::NoSuchNode { run: self.run_id.clone(), node: node.to_owned() }
    }
}

/// Why a step whose work was done fails after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenUp {
    /// Others changed its record again and again.
    Conflicts,
    /// Its record could not be written.
    State(String),
    /// Its result is more than may be kept.
    TooLarge { bytes: usize, limit: usize },
}

impl StepCall {
    /// Whether the step's result follows from the request alone and is not kept.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.node == INPUT
    }
}

impl Drive<'_> {
    /// Steps may start.
    pub fn start(&mut self) -> Vec<ExecutorCommand> {
        self.apply(MachineEvent::Started)
    }

    /// Takes up the recorded result of a step.
    pub fn step_finished(&mut self, record: StepRecord) -> Vec<ExecutorCommand> {
        let Some(node) = self.run.plan.index(&record.node) else { return Vec::new() };
        self.run.take_reports(record.reports);
        self.apply(MachineEvent::StepFinished { node, result: Box::new(record.result) })
    }

    /// A step waits for people, as the reports of the node and of those it runs say.
    pub fn step_waits(
        &mut self,
        node: &str,
        reports: Vec<NodeReport>,
        questions: Vec<Question>,
    ) -> Vec<ExecutorCommand> {
        let Some(node) = self.run.plan.index(node) else { return Vec::new() };
        self.run.take_reports(reports);
        let asked = questions.into_iter().map(|question| (question.path.clone(), question));
        self.run.asked.lock().unwrap_or_else(PoisonError::into_inner).extend(asked);
        self.apply(MachineEvent::StepWaits { node })
    }

    /// What a step asked is decided, and the step starts again.
    pub fn decided(&mut self, node: &str) -> Vec<ExecutorCommand> {
        let below = format!("{node}/");
        let mut asked = self.run.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|path, _| path != node && !path.starts_with(&below));
        drop(asked);
        let Some(node) = self.run.plan.index(node) else { return Vec::new() };
        self.apply(MachineEvent::Decided { node })
    }

    /// Someone cancelled the run.
    pub fn cancel(&mut self) -> Vec<ExecutorCommand> {
        self.apply(MachineEvent::Stopped { node: None, why: Stopped::Cancelled })
    }

    /// The run as a report, as far as it has come.
    #[must_use]
    pub fn report(&self, result: Result<Value, RunFailure>, duration: Duration) -> RunReport {
        let nodes = self.run.reports.read_all(<[NodeReport]>::to_vec);
        run_lifecycle::report_of(&self.run, nodes, result, duration)
    }

    fn apply(&mut self, event: MachineEvent) -> Vec<ExecutorCommand> {
        let tasks = self.run.perform(self.machine.apply(event));
        tasks.into_iter().filter_map(|task| self.command(task)).collect()
    }

    fn command(&self, task: Task) -> Option<ExecutorCommand> {
        Some(match task {
            Task::Start(start) => ExecutorCommand::Step(Box::new(self.step_call(start)?)),
            Task::Rest(nodes) => ExecutorCommand::Rest(self.run.waits_at(&nodes)),
            Task::End(end) => ExecutorCommand::End(self.run.ended(end)),
        })
    }

    fn step_call(&self, start: StepStart) -> Option<StepCall> {
        let node = self.run.plan.nodes.get(start.node)?;
        let name =
            |(tool, inputs): (usize, Object)| Some((self.run.plan.nodes.get(tool)?.id.clone(), inputs));
        let spending = Spending::new(self.run.plan.policy.budget, Duration::ZERO);
        self.run.reports.read_all(|reports| spending.add_all(reports));
        let mut tool_reports = self.run.reports.with_called(start.node, node);
        // The first one is the node's own.
        tool_reports.remove(0);
        Some(StepCall {
            node: node.id.clone(),
            inputs: start.inputs,
            tool_inputs: start.tool_inputs.into_iter().filter_map(name).collect(),
            tool_reports,
            spent: spending.spent(),
            effects: node.effects,
        })
    }
}

/// The results of an earlier run that a run of its document begins with.
pub fn kept_steps(
    document: &Arc<Document>,
    run: &str,
    steps: Vec<StepRecord>,
    from: Option<&str>,
) -> Result<Vec<StepRecord>, JournalError> {
    match Plan::new(Arc::clone(document), &StepKinds::default()) {
        Ok(plan) => run_lifecycle::kept_steps(&plan, run, steps, from),
        // The run is refused when it starts.
        Err(_) => Ok(Vec::new()),
    }
}

/// The failure of a run that someone wanted to end.
#[must_use]
pub fn cancelled() -> RunFailure {
    run_lifecycle::cancelled()
}

/// The failure of a run that took too long.
#[must_use]
pub fn timed_out(limit: Duration) -> RunFailure {
    run_lifecycle::timed_out(limit)
}

/// The report of a run whose document cannot be run.
#[must_use]
pub fn refused(run_id: &str, document: &Document, failure: Failure) -> RunReport {
    run_lifecycle::refused(run_id, document, failure, Vec::new())
}
