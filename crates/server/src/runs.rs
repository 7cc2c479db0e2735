//! Runs as tasks of the server's own: they continue when the client that asked for them is gone.

use std::sync::{Arc, PoisonError};

use hyper::StatusCode;
use stave_canon::Value;
use stave_listen::{QueueAdmission, Turn};
use stave_runtime::journal::{JournalError, RunStatus, StoredRun};
use stave_runtime::trace::TraceParent;
use stave_runtime::{Begun, Engine, RunIdentity, RunReport};
use tokio::sync::{oneshot, watch};

use crate::catalog::{ServedFlow, TenantRuns};
use crate::log::{RunOf, ServerEvent};
use crate::problem::Problem;
use crate::server::{Phase, Shared, reach};
use crate::start::Once;

/// What goes with a run until it ends.
struct Task {
    archive: Arc<TenantRuns>,
    flow: String,
    /// A turn, or the place of a run that is written down and waits for its turn.
    turn: QueueAdmission<String>,
}

/// A run that was begun.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) run_id: String,
    /// Its status when this was made.
    pub(crate) status: RunStatus,
    pub(crate) done: Done,
}

/// How the end of a run is learned.
#[derive(Debug)]
pub(crate) enum Done {
    /// Comes when the run ends or waits; never, when this process ends first.
    Here(oneshot::Receiver<Result<RunReport, JournalError>>),
    /// Another request began it, perhaps in another process.
    Elsewhere,
}

impl Started {
    pub(crate) fn status(&self) -> RunStatus {
        self.status
    }
}

impl Shared {
    /// Begins a run of a model, or queues it when there is no turn for it. The run is written down when this returns,
    /// so that a queued run survives the end of this process.
    pub(crate) async fn start(
        self: &Arc<Self>,
        model: &Arc<ServedFlow>,
        request: Value,
        parent: Option<TraceParent>,
    ) -> Result<Started, Problem> {
        self.begin(model, request, parent, None).await
    }

    /// The same for a start that has a name; an error when there is a run of that name.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        model: &Arc<ServedFlow>,
        request: Value,
        parent: Option<TraceParent>,
        once: Option<Once>,
    ) -> Result<Started, Problem> {
        if let Some((code, reason)) = &model.refused {
            return Err(Problem::new(StatusCode::FORBIDDEN, code, reason));
        }
        let turn = self.turn_or_place(&model.archive.tenant)?;
        let run_id = match &once {
            Some(once) => once.identity().id.to_owned(),
            None => model.engine.new_run_id(),
        };
        let traced = parent.and_then(|parent| model.engine.below(parent));
        let engine = traced.unwrap_or_else(|| Arc::clone(&model.engine));
        let document = Arc::clone(&model.document);
        let id = run_id.clone();
        let is_queued = matches!(turn, QueueAdmission::Place(_));
        let archive = Arc::clone(&model.archive);
        let begin = async move {
            let run = match &once {
                Some(once) => once.identity(),
                None => RunIdentity::from(id.as_str()),
            };
            let begun = if is_queued {
                engine.enqueue(run, document, &request).await?
            } else {
                engine.begin(run, document, &request).await?
            };
            if let Some(auth) = request.get("auth") {
                archive.auth.keep(run.id, auth.clone());
            }
            Ok(begun)
        };
        let task = Task { archive: Arc::clone(&model.archive), flow: model.name.clone(), turn };
        self.spawn(task, run_id, Arc::clone(&model.engine), begin).await
    }

    /// Resumes a run that was interrupted or waited, once it has its turn. Without an `auth` it uses the one that this
    /// process keeps.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        turn: Turn<String>,
        archive: &Arc<TenantRuns>,
        flow: &str,
        engine: Arc<dyn Engine>,
        run_id: &str,
        auth: Option<Value>,
    ) -> Result<Started, Problem> {
        let (id, driving) = (run_id.to_owned(), Arc::clone(&engine));
        let (auth, keeper) = (auth.or_else(|| archive.auth.of(run_id)), Arc::clone(archive));
        let begin = async move {
            let begun = driving.take_up(&id, auth.clone()).await?;
            if let Some(auth) = auth {
                keeper.auth.keep(&id, auth);
            }
            Ok(begun)
        };
        let task =
            Task { archive: Arc::clone(archive), flow: flow.to_owned(), turn: QueueAdmission::Turn(turn) };
        self.spawn(task, run_id.to_owned(), engine, begin).await
    }

    /// Runs the document of an earlier run again, taking over the results that it already has.
    pub(crate) async fn replay(
        self: &Arc<Self>,
        archive: &Arc<TenantRuns>,
        engine: Arc<dyn Engine>,
        stored: StoredRun,
        from: Option<String>,
        auth: Option<Value>,
    ) -> Result<Started, Problem> {
        let turn = self.turn(&archive.tenant).await?;
        let run_id = engine.new_run_id();
        let (id, driving, flow) = (run_id.clone(), Arc::clone(&engine), stored.summary.flow.clone());
        let begin = async move { driving.again(&id, stored, from.as_deref(), auth).await };
        let task = Task { archive: Arc::clone(archive), flow, turn: QueueAdmission::Turn(turn) };
        self.spawn(task, run_id, engine, begin).await
    }

    /// A turn to run from the tenant's share, or a place in the tenant's queue; an error when the queue is full.
    fn turn_or_place(&self, tenant: &str) -> Result<QueueAdmission<String>, Problem> {
        self.takes_runs()?;
        self.turns.ask(tenant.to_owned()).map_err(|_| self.too_many())
    }

    fn takes_runs(&self) -> Result<(), Problem> {
        if self.is_draining() {
            let detail = "the server is ending and takes no more runs";
            return Err(Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "draining", detail));
        }
        Ok(())
    }

    /// A turn from the tenant's share, for a run that is in the journal already.
    pub(crate) async fn turn(&self, tenant: &str) -> Result<Turn<String>, Problem> {
        self.takes_runs()?;
        self.turns.enter(tenant.to_owned(), self.limits().request).await.map_err(|_| self.too_many())
    }

    fn too_many(&self) -> Problem {
        self.metrics.rejected();
        let detail = "too many runs are in progress; try again";
        Problem::busy(StatusCode::TOO_MANY_REQUESTS, "too-many-runs", detail)
    }

    /// Begins a run in a task of its own, which continues when the requester is gone.
    async fn spawn(
        self: &Arc<Self>,
        task: Task,
        run_id: String,
        engine: Arc<dyn Engine>,
        begin: impl Future<Output = Result<Begun, JournalError>> + Send + 'static,
    ) -> Result<Started, Problem> {
        let (begun, has_begun) = oneshot::channel();
        let (sender, done) = oneshot::channel();
        let (shared, id) = (Arc::clone(self), run_id.clone());
        let status = match &task.turn {
            QueueAdmission::Turn(_) => RunStatus::Running,
            QueueAdmission::Place(_) => RunStatus::Queued,
        };
        let mut phase = self.phase();
        let running = async move {
            match begin.await {
                Err(error) => {
                    // The events of the run that is there are not this task's to close.
                    let is_other = matches!(error, JournalError::Started(_) | JournalError::Exists(_));
                    // The requester may be gone.
                    let _ = begun.send(Err(error));
                    if is_other {
                        return;
                    }
                }
                Ok(mut work) => {
                    let _ = begun.send(Ok(()));
                    let log = &shared.options.log;
                    let run = RunOf { id: &id, flow: &task.flow, tenant: &task.archive.tenant };
                    log.event(&ServerEvent::RunStarted { run, status });
                    // A run that has no turn when the server shuts down is given back to the journal.
                    let Some(_turn) = shared.turn_of(task.turn, &mut phase).await else {
                        task.archive.hub.close(&id);
                        return;
                    };
                    let outcome = tokio::select! {
                        outcome = &mut work => outcome,
                        () = reach(&mut phase, Phase::Ending) => {
                            engine.shut_down();
                            work.await
                        }
                    };
                    match &outcome {
                        Ok(report) => {
                            let (status, duration) = (report.status(), report.duration);
                            let code = report.result.as_ref().err().map(|failed| failed.failure.code.0);
                            log.event(&ServerEvent::RunEnded { run, status, code, duration });
                            shared.metrics.run(&task.archive.tenant, &task.flow, status.word(), report);
                            if status.is_terminal() {
                                task.archive.auth.forget(&id);
                            }
                        }
                        Err(error) => {
                            let problem = Problem::journal(error);
                            log.event(&ServerEvent::RunLost { run, code: problem.code() });
                        }
                    }
                    let _ = sender.send(outcome);
                }
            }
            // A run that was interrupted or could not be written down has no end in its log.
            task.archive.hub.close(&id);
        };
        {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            while runs.try_join_next().is_some() {}
            runs.spawn(running);
        }
        match has_begun.await {
            Ok(Ok(())) => Ok(Started { run_id, status, done: Done::Here(done) }),
            Ok(Err(error)) => Err(Problem::journal(&error).of_run(&run_id)),
            Err(_) => {
                let detail = "the server ended before the run began";
                Err(Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "draining", detail))
            }
        }
    }

    /// The turn of a run, once it has come; `None` when the server shuts down first.
    async fn turn_of(
        &self,
        turn: QueueAdmission<String>,
        phase: &mut watch::Receiver<Phase>,
    ) -> Option<Turn<String>> {
        match turn {
            QueueAdmission::Turn(turn) => Some(turn),
            QueueAdmission::Place(place) => tokio::select! {
                turn = place.turn() => turn,
                () = reach(phase, Phase::Draining) => None,
            },
        }
    }

    /// The report of a run, or why it did not come in time. A run that nobody waits for any more is asked
    /// to end.
    pub(crate) async fn wait(&self, archive: &TenantRuns, started: Started) -> Result<RunReport, Problem> {
        let limit = self.limits().request;
        let done = match started.done {
            Done::Here(done) => done,
            Done::Elsewhere => return self.wait_elsewhere(archive, &started.run_id).await,
        };
        match tokio::time::timeout(limit, done).await {
            Ok(Ok(Ok(report))) => Ok(report),
            Ok(Ok(Err(error))) => Err(Problem::journal(&error).of_run(&started.run_id)),
            Ok(Err(_)) => {
                let detail = "the server ended before the run did; it can be resumed";
                let problem = Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "draining", detail);
                Err(problem.of_run(&started.run_id))
            }
            Err(_) => {
                let cancelled = archive.runs.cancel(&started.run_id, self.options.clock.now()).await;
                let left = if cancelled.is_ok() { "and was cancelled" } else { "and ends by itself" };
                let detail = format!("the run took longer than {} s {left}", limit.as_secs());
                Err(Problem::timeout(&started.run_id, detail))
            }
        }
    }
}
