//! Runs as tasks of the server's own: they go on when the client that asked for them is gone.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use hyper::StatusCode;
use stave_canon::Value;
use stave_runtime::journal::{JournalError, StoredRun};
use stave_runtime::trace::TraceParent;
use stave_runtime::{Begun, Engine, Kind, RunReport};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};

use crate::catalog::{Archive, Model};
use crate::problem::Problem;
use crate::server::{Phase, Shared, reach};

/// What goes with a run until it ends.
struct Task {
    archive: Arc<Archive>,
    flow: String,
    turn: Turn,
}

/// Whether a run may be driven.
enum Turn {
    Now(OwnedSemaphorePermit),
    /// It is written down and waits for its turn.
    Later(QueuePlace),
}

/// A run that was begun.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) run_id: String,
    /// Comes when the run ends or waits; never, when this process ends first.
    pub(crate) done: oneshot::Receiver<Result<RunReport, JournalError>>,
}

impl Shared {
    /// Begins a run of a model, or queues it when there is no turn for it. The run is written down when this returns,
    /// so that a queued run survives the end of this process.
    pub(crate) async fn start(
        self: &Arc<Self>,
        model: &Arc<Model>,
        request: Value,
        parent: Option<TraceParent>,
    ) -> Result<Started, Problem> {
        let turn = self.turn_or_place(&model.archive.tenant)?;
        let run_id = model.engine.new_run_id();
        let traced = parent.and_then(|parent| model.engine.below(parent));
        let engine = traced.unwrap_or_else(|| Arc::clone(&model.engine));
        let document = Arc::clone(&model.document);
        let id = run_id.clone();
        let is_queued = matches!(turn, Turn::Later(_));
        let begin = async move {
            if is_queued {
                engine.enqueue(&id, document, &request).await
            } else {
                engine.begin(&id, document, &request).await
            }
        };
        let task = Task { archive: Arc::clone(&model.archive), flow: model.name.clone(), turn };
        self.spawn(task, run_id, Arc::clone(&model.engine), begin).await
    }

    /// Goes on with a run that was interrupted or waited.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        archive: &Arc<Archive>,
        flow: &str,
        engine: Arc<dyn Engine>,
        run_id: &str,
        auth: Option<Value>,
    ) -> Result<Started, Problem> {
        let turn = self.turn().await?;
        let (id, driving) = (run_id.to_owned(), Arc::clone(&engine));
        let begin = async move { driving.take_up(&id, auth).await };
        let task = Task { archive: Arc::clone(archive), flow: flow.to_owned(), turn: Turn::Now(turn) };
        self.spawn(task, run_id.to_owned(), engine, begin).await
    }

    /// Runs the document of an earlier run again, taking over what it already came to.
    pub(crate) async fn replay(
        self: &Arc<Self>,
        archive: &Arc<Archive>,
        engine: Arc<dyn Engine>,
        stored: StoredRun,
        from: Option<String>,
        auth: Option<Value>,
    ) -> Result<Started, Problem> {
        let turn = self.turn().await?;
        let run_id = engine.new_run_id();
        let (id, driving, flow) = (run_id.clone(), Arc::clone(&engine), stored.summary.flow.clone());
        let begin = async move { driving.again(&id, stored, from.as_deref(), auth).await };
        let task = Task { archive: Arc::clone(archive), flow, turn: Turn::Now(turn) };
        self.spawn(task, run_id, engine, begin).await
    }

    /// A turn to run, or a place in the tenant's queue; an error when the queue is full.
    fn turn_or_place(self: &Arc<Self>, tenant: &str) -> Result<Turn, Problem> {
        self.takes_runs()?;
        match Arc::clone(&self.turns).try_acquire_owned() {
            Ok(turn) => Ok(Turn::Now(turn)),
            Err(_) => QueuePlace::enter(self, tenant).map(Turn::Later),
        }
    }

    fn takes_runs(&self) -> Result<(), Problem> {
        if self.is_draining() {
            let detail = "the server is ending and takes no more runs";
            return Err(Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "draining", detail));
        }
        Ok(())
    }

    /// A turn for a run that is in the journal already. Beyond those that go on, only so many may wait.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.takes_runs()?;
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return Ok(turn);
        }
        let _waiting = Waiting::enter(self)?;
        let turn = tokio::time::timeout(self.limits().request, Arc::clone(&self.turns).acquire_owned()).await;
        match turn {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(self.too_many()),
        }
    }

    fn too_many(&self) -> Problem {
        self.metrics.rejected();
        let detail = "too many runs are going on; try again";
        Problem::busy(StatusCode::TOO_MANY_REQUESTS, "too-many-runs", detail)
    }

    /// Begins a run in a task of its own, which goes on when whoever asked is gone.
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
        let mut phase = self.phase();
        let running = async move {
            match begin.await {
                Err(error) => {
                    // Whoever asked may be gone.
                    let _ = begun.send(Err(error));
                }
                Ok(mut work) => {
                    let _ = begun.send(Ok(()));
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
                    if let Ok(report) = &outcome {
                        shared.metrics.run(&task.archive.tenant, &task.flow, word(report), report);
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
            Ok(Ok(())) => Ok(Started { run_id, done }),
            Ok(Err(error)) => Err(Problem::journal(&error).of_run(&run_id)),
            Err(_) => {
                let detail = "the server ended before the run began";
                Err(Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "draining", detail))
            }
        }
    }

    /// The turn of a run, once it has come; `None` when the server shuts down first. Turns are given to queued runs in
    /// the order of their starts: this is where a tenant's share would be weighed.
    async fn turn_of(&self, turn: Turn, phase: &mut watch::Receiver<Phase>) -> Option<OwnedSemaphorePermit> {
        match turn {
            Turn::Now(turn) => Some(turn),
            Turn::Later(_place) => tokio::select! {
                turn = Arc::clone(&self.turns).acquire_owned() => turn.ok(),
                () = reach(phase, Phase::Draining) => None,
            },
        }
    }

    /// The report of a run, or why it did not come in time. A run that nobody waits for any more is asked
    /// to end.
    pub(crate) async fn wait(&self, archive: &Archive, started: Started) -> Result<RunReport, Problem> {
        let limit = self.limits().request;
        match tokio::time::timeout(limit, started.done).await {
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

/// The outcome of a run in one word.
pub(crate) fn word(report: &RunReport) -> &'static str {
    match &report.result {
        Ok(_) => "ok",
        Err(failed) if failed.failure.kind == Kind::Waiting => "waiting",
        Err(failed) if failed.failure.kind == Kind::Cancelled => "cancelled",
        Err(failed) if failed.failure.kind == Kind::Interrupted => "interrupted",
        Err(_) => "error",
    }
}

/// A place in the queue of a tenant, given back when it is dropped.
struct QueuePlace {
    shared: Arc<Shared>,
    tenant: String,
}

impl QueuePlace {
    fn enter(shared: &Arc<Shared>, tenant: &str) -> Result<QueuePlace, Problem> {
        let mut queues = shared.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queued = queues.entry(tenant.to_owned()).or_default();
        if *queued >= shared.limits().waiting_runs {
            return Err(shared.too_many());
        }
        *queued += 1;
        Ok(QueuePlace { shared: Arc::clone(shared), tenant: tenant.to_owned() })
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut queues = self.shared.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queued) = queues.get_mut(&self.tenant) {
            *queued = queued.saturating_sub(1);
            if *queued == 0 {
                queues.remove(&self.tenant);
            }
        }
    }
}

/// A place among those who wait, given back when it is dropped.
struct Waiting<'s>(&'s Shared);

impl Waiting<'_> {
    fn enter(shared: &Shared) -> Result<Waiting<'_>, Problem> {
        let before = shared.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(shared);
        if before >= shared.limits().waiting_runs { Err(shared.too_many()) } else { Ok(waiting) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
