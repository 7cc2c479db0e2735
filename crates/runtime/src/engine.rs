//! The engine port and the embedded engine: a run from request to report.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use stave_canon::{Timestamp, Value};
use stave_diag::codes::run as codes;
use stave_exec::Document;

use crate::Failure;
use crate::budget::Spending;
use crate::calls::Calls;
use crate::failure::Kind;
use crate::journal::{Decision, Ending, JournalError, NewRun, StepRecord, StoredRun};
use crate::observer::Event;
use crate::plan::Plan;
use crate::report::{NodeReport, RunFailure, RunReport, Status};
use crate::request::{self, Request};
use crate::run::{Decisions, Run};
use crate::services::Services;
use crate::steps::{Step, StepKinds};
use crate::task::Stop;
use crate::turns::Turns;

/// How many plans an engine keeps.
const KEPT_PLANS: usize = 32;

/// Something that runs exec documents.
///
/// A failed run is a report too. An error says that what happened could not be written down or read; the
/// run can be resumed once that is cured.
#[async_trait]
pub trait Engine: Send + Sync + std::fmt::Debug {
    /// An id for a run that is about to start.
    fn new_run_id(&self) -> String;

    /// Starts a run and drives it to its end, or until it waits for a person.
    async fn start(
        &self,
        run_id: &str,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<RunReport, JournalError>;

    /// Goes on with a run that was interrupted or waited. Steps that have a result are not repeated.
    /// `auth` is that of the original request, which is never stored.
    async fn resume(&self, run_id: &str, auth: Option<Value>) -> Result<RunReport, JournalError>;

    /// Runs a document on a request under a fresh id.
    async fn run(&self, document: Arc<Document>, request: &Value) -> Result<RunReport, JournalError> {
        self.start(&self.new_run_id(), document, request).await
    }
}

/// Runs documents in this process.
#[derive(Debug, Clone)]
pub struct EmbeddedEngine {
    services: Services,
    kinds: StepKinds,
    /// The runs that this engine is driving.
    active: Arc<Mutex<HashSet<String>>>,
    turns: Arc<Turns>,
    stopping: tokio::sync::watch::Sender<bool>,
    /// The plans of the documents that were run last, the newest last.
    plans: Arc<Mutex<Vec<Arc<Plan>>>>,
    /// What people have decided about every run that starts here.
    decided: HashMap<String, Decision>,
}

/// A run as it is when this process takes it up.
#[derive(Debug, Default)]
struct Known {
    steps: Vec<StepRecord>,
    calls: Calls,
    decisions: Decisions,
}

impl EmbeddedEngine {
    #[must_use]
    pub fn new(services: Services) -> Self {
        EmbeddedEngine {
            services,
            kinds: StepKinds::default(),
            active: Arc::default(),
            turns: Arc::default(),
            stopping: tokio::sync::watch::Sender::new(false),
            plans: Arc::default(),
            decided: HashMap::new(),
        }
    }

    /// The plan of a document, made once for the runs that share it.
    fn plan(&self, document: &Arc<Document>) -> Result<Arc<Plan>, Failure> {
        let known = |plan: &Arc<Plan>| Arc::ptr_eq(&plan.document, document);
        if let Some(plan) =
            self.plans.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|plan| known(plan))
        {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(Plan::new(Arc::clone(document), &self.kinds)?);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= KEPT_PLANS {
            plans.remove(0);
        }
        plans.push(Arc::clone(&plan));
        Ok(plan)
    }

    /// Lets every run come to rest: nothing further starts, what has effects is let finish, and what has a
    /// result is kept. The runs end as interrupted and can be resumed.
    pub fn shut_down(&self) {
        self.stopping.send_replace(true);
    }

    /// With decisions that are made before anyone is asked, by node.
    #[must_use]
    pub fn with_decisions(mut self, decided: HashMap<String, Decision>) -> Self {
        self.decided = decided;
        self
    }

    /// With a step kind that the runtime does not have itself.
    #[must_use]
    pub fn with_step(mut self, kind: &str, step: Arc<dyn Step>) -> Self {
        self.kinds.add(kind, step);
        // Plans are bound to the kinds that were there.
        self.plans = Arc::default();
        self
    }

    /// Runs the document of an earlier run again under a fresh id. Results of that run are taken over,
    /// except those of `from` and of everything that depends on it; without a node, except those that
    /// failed.
    pub async fn replay(
        &self,
        run_id: &str,
        stored: StoredRun,
        from: Option<&str>,
        auth: Option<Value>,
    ) -> Result<RunReport, JournalError> {
        let original = stored.summary.id.clone();
        let request = with_auth(&original, stored.request.clone(), stored.had_auth, auth)?;
        let plan = match self.plan(&stored.document) {
            Ok(plan) => plan,
            Err(failure) => return Ok(self.refused(run_id, &stored.document, failure, Vec::new())),
        };
        let steps = kept_steps(&plan, &original, stored.steps, from)?;
        let run = NewRun {
            id: run_id.to_owned(),
            document: Arc::clone(&stored.document),
            request: stored.request,
            had_auth: stored.had_auth,
            started_at: stored.summary.started_at,
            replay_of: Some(original),
        };
        let _active = self.activate(run_id)?;
        self.services.journal.begin(&run).await?;
        for step in &steps {
            self.services.journal.record(run_id, step, None).await?;
        }
        let known = Known { steps, ..Known::default() };
        self.drive(run_id, stored.document, &request, run.started_at, known).await
    }

    /// Drives a run that the journal knows to its end, and writes the end down.
    async fn drive(
        &self,
        run_id: &str,
        document: Arc<Document>,
        request: &Value,
        arrived_at: Timestamp,
        known: Known,
    ) -> Result<RunReport, JournalError> {
        let report = self.work(run_id, document, request, arrived_at, known).await?;
        self.services.observer.on(&Event::RunEnded { report: &report });
        let ending = match &report.result {
            Ok(output) => Ending::Ok(output.clone()),
            Err(failed) if failed.failure.kind == Kind::Waiting => {
                self.services.journal.suspend(run_id).await?;
                return Ok(report);
            }
            // The run is left to whoever resumes it.
            Err(failed) if failed.failure.kind == Kind::Interrupted => return Ok(report),
            Err(failed) if failed.failure.kind == Kind::Cancelled => Ending::Cancelled,
            Err(failed) => Ending::Failed(failed.clone()),
        };
        let idle: Vec<NodeReport> = report.nodes.iter().filter(|node| node.is_idle()).cloned().collect();
        self.services.journal.end(run_id, &ending, &idle, self.services.clock.now()).await?;
        Ok(report)
    }

    async fn work(
        &self,
        run_id: &str,
        document: Arc<Document>,
        request: &Value,
        arrived_at: Timestamp,
        known: Known,
    ) -> Result<RunReport, JournalError> {
        let services = &self.services;
        let started = services.clock.elapsed();
        let plan = match self.plan(&document) {
            Ok(plan) => plan,
            Err(failure) => return Ok(self.refused(run_id, &document, failure, Vec::new())),
        };
        let waiting: Vec<NodeReport> =
            plan.nodes.iter().map(|node| NodeReport::waiting(&node.id, &node.kind, node.origin)).collect();
        let request = if plan.is_workflow {
            Request::of_workflow(request, &document.inputs_schema, run_id, arrived_at)
        } else {
            Request::new(request, &document.inputs_schema, run_id, arrived_at)
        };
        let request = match request {
            Ok(request) => request,
            Err(failure) => {
                let nodes = finish(waiting, "the request was refused");
                return Ok(self.refused(run_id, &document, failure, nodes));
            }
        };
        services.observer.on(&Event::RunStarted { run_id, flow: &document.flow.name, nodes: &waiting });
        let run = Run {
            id: run_id.to_owned(),
            plan: &plan,
            request,
            services,
            reports: Mutex::new(waiting),
            calls: known.calls,
            decisions: known.decisions,
            spending: Spending::new(plan.policy.budget, started),
            started,
            turns: &self.turns,
            stopping: self.stopping.subscribe(),
            unwritten: Mutex::new(None),
        };
        let limit = match document.flow.timeout_ms {
            0 => services.limits.run,
            limit => services.limits.run.min(Duration::from_millis(limit.into())),
        };
        let result = match tokio::time::timeout(limit, run.drive(known.steps)).await {
            Ok(Ok(result)) => result,
            Ok(Err(Stop::Journal(error))) => return Err(error),
            Ok(Err(Stop::Cancelled)) => Err(unfinished(Kind::Cancelled, "the run was cancelled".to_owned())),
            Ok(Err(Stop::Interrupted)) => {
                Err(unfinished(Kind::Interrupted, "the process was asked to end".to_owned()))
            }
            Ok(Err(Stop::Waiting(nodes))) => {
                let names: Vec<String> = nodes.iter().map(|node| format!("`{node}`")).collect();
                let message = format!("the run waits for a decision at {}", names.join(", "));
                Err(RunFailure { node: nodes.into_iter().next(), ..unfinished(Kind::Waiting, message) })
            }
            Err(_) => {
                let message = format!("the run took longer than {} ms", limit.as_millis());
                Err(whole_run(Failure::new(codes::RUN_TIMEOUT, Kind::Timeout, message)))
            }
        };
        let is_waiting = matches!(&result, Err(failed) if failed.failure.kind == Kind::Waiting);
        let mut nodes = run.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (node, report) in plan.nodes.iter().zip(&mut nodes) {
            if node.tool && report.status == Status::Waiting {
                report.status = Status::Skipped;
                report.reason = Some("nothing called it".to_owned());
            }
        }
        let nodes = if is_waiting { nodes } else { finish(nodes, "the run ended before it") };
        let duration = services.clock.elapsed().saturating_sub(started);
        Ok(RunReport { run_id: run_id.to_owned(), flow: document.flow.name.clone(), result, nodes, duration })
    }

    /// The report of a run that nothing was done for.
    fn refused(
        &self,
        run_id: &str,
        document: &Document,
        failure: Failure,
        nodes: Vec<NodeReport>,
    ) -> RunReport {
        RunReport {
            run_id: run_id.to_owned(),
            flow: document.flow.name.clone(),
            result: Err(whole_run(failure)),
            nodes,
            duration: Duration::ZERO,
        }
    }

    /// Marks a run as driven by this engine, so that nobody drives it a second time.
    fn activate(&self, run_id: &str) -> Result<Active<'_>, JournalError> {
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        if !active.insert(run_id.to_owned()) {
            return Err(JournalError::Busy(run_id.to_owned()));
        }
        Ok(Active { engine: self, run_id: run_id.to_owned() })
    }
}

#[async_trait]
impl Engine for EmbeddedEngine {
    fn new_run_id(&self) -> String {
        format!("run_{}", self.services.ids.uuid().replace('-', ""))
    }

    async fn start(
        &self,
        run_id: &str,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<RunReport, JournalError> {
        let _active = self.activate(run_id)?;
        let started_at = self.services.clock.now();
        let (stored, had_auth) = request::without_auth(request);
        let run = NewRun {
            id: run_id.to_owned(),
            document: Arc::clone(&document),
            request: stored,
            had_auth,
            started_at,
            replay_of: None,
        };
        self.services.journal.begin(&run).await?;
        let known = Known { decisions: Decisions(self.decided.clone()), ..Known::default() };
        self.drive(run_id, document, request, started_at, known).await
    }

    async fn resume(&self, run_id: &str, auth: Option<Value>) -> Result<RunReport, JournalError> {
        let _active = self.activate(run_id)?;
        let stored = self.services.journal.claim(run_id).await?;
        let request = with_auth(run_id, stored.request, stored.had_auth, auth)?;
        let known = Known {
            steps: stored.steps,
            calls: Calls::new(stored.calls),
            decisions: Decisions(stored.decisions.into_iter().collect()),
        };
        self.drive(run_id, stored.document, &request, stored.summary.started_at, known).await
    }
}

/// Takes the mark away, also when the run's future is dropped.
struct Active<'e> {
    engine: &'e EmbeddedEngine,
    run_id: String,
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.engine.active.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.run_id);
    }
}

/// The request as it was, with the `auth` that was not stored.
fn with_auth(run: &str, request: Value, had_auth: bool, auth: Option<Value>) -> Result<Value, JournalError> {
    match (had_auth, auth) {
        (true, Some(auth)) => Ok(request::with_auth(request, auth)),
        (true, None) => Err(JournalError::AuthNeeded(run.to_owned())),
        (false, _) => Ok(request),
    }
}

/// The results that a replay takes over.
fn kept_steps(
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
            let failed = steps.iter().filter(|step| step.outputs.is_err() || step.unhandled.is_some());
            failed.map(|step| index(&step.node)).collect::<Result<_, _>>()?
        }
    };
    while let Some(node) = waiting.pop() {
        if let Some(again) = again.get_mut(node).filter(|again| !**again) {
            *again = true;
            let outgoing = plan.nodes.get(node).map(|node| node.outgoing.as_slice()).unwrap_or_default();
            waiting.extend(outgoing.iter().filter_map(|edge| Some(plan.edges.get(*edge)?.to)));
        }
    }
    Ok(steps
        .into_iter()
        .filter(|step| plan.index(&step.node).is_some_and(|index| again.get(index) == Some(&false)))
        .collect())
}

fn unfinished(kind: Kind, message: String) -> RunFailure {
    whole_run(Failure::new(codes::RUN_STOPPED, kind, message))
}

fn whole_run(failure: Failure) -> RunFailure {
    RunFailure { failure, node: None, attempts: 0 }
}

/// Nodes that the run did not come to were cancelled by its end.
fn finish(mut nodes: Vec<NodeReport>, reason: &str) -> Vec<NodeReport> {
    for node in nodes.iter_mut().filter(|node| node.status == Status::Waiting) {
        node.status = Status::Cancelled;
        node.reason = Some(reason.to_owned());
    }
    nodes
}
