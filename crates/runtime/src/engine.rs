//! The engine port and the embedded engine: a run from request to report.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use stave_canon::Value;
use stave_exec::Document;
use stave_lower::hold_to_project;

use crate::budget::{Spending, Spent};
use crate::calls::Calls;
use crate::certain_refusals::certain_refusal;
use crate::concurrency_limits::ConcurrencyLimits;
use crate::journal::{Decision, Driver, JournalError, NewRun, Pause, StepRecord, StoredRun, Times};
use crate::node_reports::NodeReports;
use crate::observer::RunEvent;
use crate::plan::Plan;
use crate::report::RunReport;
use crate::request;
use crate::run::{Decisions, Run};
use crate::run_identity::RunIdentity;
use crate::run_lifecycle::{
    finish, kept_items, kept_steps, refused, report_of, request_of, time_limit, timed_out, waiting,
};
use crate::services::Services;
use crate::steps::{Step, StepKinds};
use crate::trace::{End, OptionalSpan, RunWork, TraceParent};
use crate::{Failure, labels};

/// How many plans an engine keeps.
const KEPT_PLANS: usize = 32;

/// A run in progress: the future of its end, or of the moment when it waits for a person.
pub type Begun = BoxFuture<'static, Result<RunReport, JournalError>>;

/// Something that runs exec documents.
///
/// A failed run is a report too. An error says that what happened could not be written down or read; the
/// run can be resumed once that is cured.
#[async_trait]
pub trait Engine: Send + Sync + std::fmt::Debug {
    /// An id for a run that is about to start.
    fn new_run_id(&self) -> String;

    /// Begins a run, which is written down when this returns. What is handed back has to be awaited: an
    /// engine may drive the run there.
    ///
    /// A run that is there already is an error: [`JournalError::Started`] when it was asked for by the same request,
    /// [`JournalError::Exists`] otherwise.
    async fn begin(
        &self,
        run: RunIdentity<'_>,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<Begun, JournalError>;

    /// The same for a run that waits for its turn: it is written down now, and driven once what is handed back is
    /// awaited. An engine that has no queue begins the run.
    async fn enqueue(
        &self,
        run: RunIdentity<'_>,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<Begun, JournalError> {
        self.begin(run, document, request).await
    }

    /// Resumes a run that was interrupted or waited. Steps that have a result are not repeated.
    /// `auth` is that of the original request, which is never stored.
    async fn take_up(&self, run_id: &str, auth: Option<Value>) -> Result<Begun, JournalError>;

    /// Runs the document of an earlier run again under a fresh id. Results of that run are taken over,
    /// except those of `from` and of everything that depends on it; without a node, except those that
    /// failed.
    async fn again(
        &self,
        run_id: &str,
        stored: StoredRun,
        from: Option<&str>,
        auth: Option<Value>,
    ) -> Result<Begun, JournalError>;

    /// Halts every run that this process drives: nothing further starts, side-effecting steps finish so that
    /// their outcome is recorded, and results are kept. The runs end as interrupted and can be resumed.
    fn shut_down(&self);

    /// Whether runs continue by themselves, also after a crash and once a person has decided, so that nobody has to
    /// take them up.
    fn drives_itself(&self) -> bool {
        false
    }

    /// An engine whose runs are traced as parts of what the caller does; `None` when they cannot be.
    fn below(&self, parent: TraceParent) -> Option<Arc<dyn Engine>> {
        let _ = parent;
        None
    }

    /// Starts a run and drives it to its end, or until it waits for a person.
    async fn start(
        &self,
        run_id: &str,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<RunReport, JournalError> {
        self.begin(run_id.into(), document, request).await?.await
    }

    /// Resumes a run until its end, or until it waits for a person.
    async fn resume(&self, run_id: &str, auth: Option<Value>) -> Result<RunReport, JournalError> {
        self.take_up(run_id, auth).await?.await
    }

    /// Replays a run until its end, or until it waits for a person.
    async fn replay(
        &self,
        run_id: &str,
        stored: StoredRun,
        from: Option<&str>,
        auth: Option<Value>,
    ) -> Result<RunReport, JournalError> {
        self.again(run_id, stored, from, auth).await?.await
    }

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
    concurrency: Arc<ConcurrencyLimits>,
    stopping: tokio::sync::watch::Sender<bool>,
    /// The plans of the documents that were run last, the newest last.
    plans: Arc<Mutex<Vec<Arc<Plan>>>>,
    /// What people have decided about every run that starts here.
    decided: HashMap<String, Decision>,
    /// The caller's place in a trace, below which runs are traced.
    parent: Option<TraceParent>,
}

/// A run as it is when this process takes it up.
#[derive(Debug, Default)]
struct Known {
    steps: Vec<StepRecord>,
    calls: Calls,
    decisions: Decisions,
    /// How long processes have driven it before.
    used: Duration,
}

impl Known {
    fn of(stored: StoredRun) -> Known {
        let decisions = Decisions { made: stored.decisions.into_iter().collect(), ..Decisions::default() };
        Known { steps: stored.steps, calls: Calls::new(stored.calls), decisions, used: stored.used }
    }
}

impl EmbeddedEngine {
    #[must_use]
    pub fn new(services: Services) -> Self {
        EmbeddedEngine {
            kinds: StepKinds::with(services.opcua.as_ref()),
            services,
            concurrency: Arc::default(),
            stopping: tokio::sync::watch::Sender::new(false),
            plans: Arc::default(),
            decided: HashMap::new(),
            parent: None,
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

    /// The document of an earlier start, held to what the project says now.
    fn held(&self, document: &Arc<Document>) -> Arc<Document> {
        let Some(policy) = &self.services.policy else { return Arc::clone(document) };
        let mut held = Document::clone(document);
        hold_to_project(&mut held, policy);
        if held.constants.policy == document.constants.policy { Arc::clone(document) } else { Arc::new(held) }
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

    /// Drives a run that the journal knows to its end, and writes the end down.
    async fn drive(
        &self,
        driver: Driver,
        run_id: &str,
        document: Arc<Document>,
        request: &Value,
        times: Times,
        known: Known,
    ) -> Result<RunReport, JournalError> {
        let journal = &self.services.journal;
        let (mut driver, mut known) = (driver, known);
        loop {
            let made = known.decisions.made.values();
            let decisions: Vec<String> = made.filter_map(|decision| decision.digest.clone()).collect();
            let work = RunWork { run_id, flow: &document.flow.name, is_resumed: !known.steps.is_empty() };
            let span = OptionalSpan::new(self.services.tracer.begin(&work, self.parent.as_ref()));
            let mut report = self.work(run_id, Arc::clone(&document), request, times, known, &span).await?;
            let now = self.services.clock.now();
            if report.ending().is_some() {
                // The journal reports the same time later.
                report.duration = times.until(now);
            }
            let failed = report.result.as_ref().err().map(|failed| failed.node.as_deref());
            let hides = failed.is_some_and(|node| match node {
                Some(node) => labels::is_hidden_from_traces(&document, node),
                None => labels::is_any_field_hidden_from_traces(&document),
            });
            span.hiding(hides).end(&End::Run(&report));
            let idle = self.plan(&document).map(|plan| report.without_result(&plan));
            // A document that cannot be planned has no nodes that did anything.
            let idle = idle.unwrap_or_else(|_| report.nodes.clone());
            if report.waits() {
                let is_decided =
                    journal.suspend(run_id, Pause { idle: &idle, known: &decisions, at: now }).await?;
                driver.settle();
                if is_decided {
                    // A question was decided while other steps were at work, and nobody else continues the run.
                    drop(driver);
                    match journal.claim(run_id, now).await {
                        Ok((stored, claimed)) => {
                            driver = claimed.with_clock(Arc::clone(&self.services.clock));
                            known = Known::of(stored);
                            continue;
                        }
                        Err(JournalError::Busy(_) | JournalError::Ended { .. }) => {}
                        Err(error) => return Err(error),
                    }
                    self.services.observer.on(&RunEvent::RunEnded { report: &report });
                    return Ok(report);
                }
            }
            self.services.observer.on(&RunEvent::RunEnded { report: &report });
            if let Some(ending) = report.ending() {
                journal.end(run_id, &ending, &idle, now).await?;
                driver.settle();
            }
            // A run that was interrupted is left to the next resume.
            return Ok(report);
        }
    }

    async fn work(
        &self,
        run_id: &str,
        document: Arc<Document>,
        request: &Value,
        times: Times,
        known: Known,
        span: &OptionalSpan,
    ) -> Result<RunReport, JournalError> {
        let services = &self.services;
        let started = services.clock.elapsed();
        let plan = match self.plan(&document) {
            Ok(plan) => plan,
            Err(failure) => return Ok(refused(run_id, &document, failure, Vec::new())),
        };
        let waiting = waiting(&plan);
        let request = match request_of(&plan, request, run_id, times.arrived_at) {
            Ok(request) => request,
            Err(failure) => {
                let nodes = finish(waiting, "the request was refused");
                return Ok(refused(run_id, &document, failure, nodes));
            }
        };
        let is_done = |node: &str| known.steps.iter().any(|step| step.node == node);
        if let Some(refusal) = certain_refusal(&document, services, &plan.policy.governance, is_done) {
            let mut nodes = finish(waiting, "the run was refused");
            refusal.keep(&document, services, &mut nodes);
            let failed = refusal.failed;
            return Ok(RunReport {
                result: Err(failed.clone()),
                ..refused(run_id, &document, failed.failure, nodes)
            });
        }
        services.observer.on(&RunEvent::RunStarted { run_id, flow: &document.flow.name, nodes: &waiting });
        let run = Run {
            id: run_id.to_owned(),
            plan: &plan,
            request,
            started_at: times.started_at,
            services,
            reports: NodeReports::new(waiting),
            calls: known.calls,
            decisions: known.decisions,
            asked: Mutex::default(),
            spending: Spending::going_on(plan.policy.budget, started, known.used, Spent::default()),
            span,
            concurrency: &self.concurrency,
            stopping: self.stopping.subscribe(),
            halting: tokio::sync::watch::Sender::new(false),
            unwritten: Mutex::new(None),
        };
        let limit = time_limit(&document, &services.limits);
        let left = limit.saturating_sub(known.used);
        let result = match tokio::time::timeout(left, run.drive(known.steps)).await {
            Ok(result) => result?,
            Err(_) => Err(timed_out(limit)),
        };
        let driven = services.clock.elapsed().saturating_sub(started);
        let nodes = run.reports.take();
        let mut report = report_of(&run, nodes, result, driven);
        report.duration = report.duration.saturating_add(known.used);
        Ok(report)
    }

    /// The future that drives a run which the journal knows. The driver goes with it, so that a run whose future
    /// is dropped is given back.
    fn begun(
        &self,
        driver: Driver,
        run_id: &str,
        document: Arc<Document>,
        request: Value,
        times: Times,
        known: Known,
    ) -> Begun {
        let (engine, run_id) = (self.clone(), run_id.to_owned());
        let driver = driver.with_clock(Arc::clone(&self.services.clock));
        Box::pin(async move { engine.drive(driver, &run_id, document, &request, times, known).await })
    }

    /// What is known about a run that begins: what was decided before anyone is asked.
    fn foreseen(&self) -> Known {
        let decisions = Decisions { foreseen: self.decided.clone(), ..Decisions::default() };
        Known { decisions, ..Known::default() }
    }

    /// Writes a run down that starts with this request.
    async fn write_down(
        &self,
        run: RunIdentity<'_>,
        document: &Arc<Document>,
        request: &Value,
        is_queued: bool,
    ) -> Result<(Driver, Times), JournalError> {
        let times = Times::now(self.services.clock.now());
        let (stored, had_auth) = request::without_auth(request);
        let run = NewRun {
            id: run.id.to_owned(),
            digest: run.digest.map(str::to_owned),
            document: Arc::clone(document),
            request: stored,
            had_auth,
            auth_digest: request::request_auth_digest(run.id, request),
            times,
            replay_of: None,
            is_queued,
        };
        Ok((self.services.journal.begin(&run).await?, times))
    }
}

#[async_trait]
impl Engine for EmbeddedEngine {
    fn new_run_id(&self) -> String {
        format!("run_{}", self.services.ids.uuid().replace('-', ""))
    }

    fn below(&self, parent: TraceParent) -> Option<Arc<dyn Engine>> {
        Some(Arc::new(EmbeddedEngine { parent: Some(parent), ..self.clone() }))
    }

    async fn begin(
        &self,
        run: RunIdentity<'_>,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<Begun, JournalError> {
        let (driver, times) = self.write_down(run, &document, request, false).await?;
        let known = self.foreseen();
        Ok(self.begun(driver, run.id, document, request.clone(), times, known))
    }

    async fn enqueue(
        &self,
        run: RunIdentity<'_>,
        document: Arc<Document>,
        request: &Value,
    ) -> Result<Begun, JournalError> {
        let (driver, times) = self.write_down(run, &document, request, true).await?;
        let known = self.foreseen();
        let (services, id) = (self.services.clone(), run.id.to_owned());
        let driven = self.begun(driver, run.id, document, request.clone(), times, known);
        Ok(Box::pin(async move {
            services.journal.start(&id, services.clock.now()).await?;
            driven.await
        }))
    }

    async fn take_up(&self, run_id: &str, auth: Option<Value>) -> Result<Begun, JournalError> {
        let (stored, driver) = self.services.journal.claim(run_id, self.services.clock.now()).await?;
        // A run continues for its requester: nobody else gives it an `auth` of their own.
        let request = match auth {
            Some(other) if stored.had_auth && !stored.is_own_auth(&other) => {
                Err(JournalError::AuthDiffers(run_id.to_owned()))
            }
            auth => with_auth(run_id, stored.request.clone(), stored.had_auth, auth),
        };
        let request = match request {
            Ok(request) => request,
            // Every question is answered: the run waits only for its `auth`.
            Err(error @ JournalError::AuthNeeded(_)) if stored.open_questions().next().is_none() => {
                return Err(error);
            }
            Err(error) => {
                driver.undo();
                return Err(error);
            }
        };
        let (document, times) = (self.held(&stored.document), stored.times());
        Ok(self.begun(driver, run_id, document, request, times, Known::of(stored)))
    }

    async fn again(
        &self,
        run_id: &str,
        stored: StoredRun,
        from: Option<&str>,
        auth: Option<Value>,
    ) -> Result<Begun, JournalError> {
        let original = stored.summary.id.clone();
        let request = with_auth(&original, stored.request.clone(), stored.had_auth, auth)?;
        let document = self.held(&stored.document);
        let plan = match self.plan(&document) {
            Ok(plan) => plan,
            Err(failure) => {
                let report = refused(run_id, &document, failure, Vec::new());
                return Ok(Box::pin(std::future::ready(Ok(report))));
            }
        };
        let items = kept_items(&plan, &stored, from);
        let steps = kept_steps(&plan, &original, stored.steps, from)?;
        let run = NewRun {
            id: run_id.to_owned(),
            digest: None,
            document: Arc::clone(&document),
            request: stored.request,
            had_auth: stored.had_auth,
            auth_digest: request::request_auth_digest(run_id, &request),
            times: Times { arrived_at: stored.arrived_at, started_at: self.services.clock.now() },
            replay_of: Some(original),
            is_queued: false,
        };
        let driver = self.services.journal.begin(&run).await?;
        for step in &steps {
            self.services.journal.record(run_id, step, None).await?;
        }
        for item in &items {
            self.services.journal.record_call(run_id, item, None).await?;
        }
        let known = Known { steps, calls: Calls::new(items), ..Known::default() };
        Ok(self.begun(driver, run_id, document, request, run.times, known))
    }

    fn shut_down(&self) {
        self.stopping.send_replace(true);
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
