//! Runs as tasks of the server's own: they go on when the client that asked for them is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::StatusCode;
use stave_canon::Value;
use stave_runtime::journal::{JournalError, RunFilter, RunStatus, StoredRun};
use stave_runtime::{EmbeddedEngine, Engine, Kind, RunReport};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::access::Principal;
use crate::catalog::{Archive, Model};
use crate::events::{RunLog, grown};
use crate::problem::Problem;
use crate::server::{Phase, Shared, reach};

/// The most runs of one project that are gone on with at the beginning.
const MOST_RESUMED: usize = 1000;

/// What goes with a run until it ends.
struct Task {
    archive: Arc<Archive>,
    flow: String,
    turn: OwnedSemaphorePermit,
}

/// A run that was begun.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) run_id: String,
    /// Comes when the run ends or waits; never, when this process ends first.
    pub(crate) done: oneshot::Receiver<Result<RunReport, JournalError>>,
}

impl Shared {
    /// Begins a run of a model once it has its turn. The run is in the journal when this returns.
    pub(crate) async fn start(
        self: &Arc<Self>,
        model: &Arc<Model>,
        request: Value,
    ) -> Result<Started, Problem> {
        let turn = self.turn().await?;
        let run_id = model.engine.new_run_id();
        let (engine, document) = (model.engine.clone(), Arc::clone(&model.document));
        let id = run_id.clone();
        let work = async move { engine.start(&id, document, &request).await };
        let task = Task { archive: Arc::clone(&model.archive), flow: model.name.clone(), turn };
        let (log, done) = self.spawn(task, &run_id, model.engine.clone(), work);
        begun(&log, Started { run_id, done }).await
    }

    /// Goes on with a run that was interrupted or waited.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        archive: &Arc<Archive>,
        flow: &str,
        engine: EmbeddedEngine,
        run_id: &str,
        auth: Option<Value>,
    ) -> Result<Started, Problem> {
        let turn = self.turn().await?;
        let (id, driving) = (run_id.to_owned(), engine.clone());
        let work = async move { driving.resume(&id, auth).await };
        let task = Task { archive: Arc::clone(archive), flow: flow.to_owned(), turn };
        let (log, done) = self.spawn(task, run_id, engine, work);
        begun(&log, Started { run_id: run_id.to_owned(), done }).await
    }

    /// Goes on with the runs that nobody works on, one after the other.
    pub(crate) async fn resume_interrupted(self: &Arc<Self>) {
        let catalog = self.catalog();
        for archive in catalog.archives(&Principal::Anyone) {
            let status = Some(RunStatus::Interrupted);
            let filter = RunFilter { status, limit: Some(MOST_RESUMED), ..RunFilter::default() };
            // The newest come first in a list; those that wait longest go first here.
            for run in archive.journal.list(filter).await.unwrap_or_default().into_iter().rev() {
                if self.is_draining() {
                    return;
                }
                let Ok(stored) = archive.journal.show(&run.id).await else { continue };
                let Ok(engine) = archive.engine(&stored.document) else { continue };
                if stored.had_auth {
                    continue;
                }
                // One that can not be resumed stays as it is, for people to look at.
                let _ = self.resume(archive, &run.flow, engine, &run.id, None).await;
            }
        }
    }

    /// Runs the document of an earlier run again, taking over what it already came to.
    pub(crate) async fn replay(
        self: &Arc<Self>,
        archive: &Arc<Archive>,
        engine: EmbeddedEngine,
        stored: StoredRun,
        from: Option<String>,
        auth: Option<Value>,
    ) -> Result<Started, Problem> {
        let turn = self.turn().await?;
        let run_id = engine.new_run_id();
        let (id, driving, flow) = (run_id.clone(), engine.clone(), stored.summary.flow.clone());
        let work = async move { driving.replay(&id, stored, from.as_deref(), auth).await };
        let task = Task { archive: Arc::clone(archive), flow, turn };
        let (log, done) = self.spawn(task, &run_id, engine, work);
        begun(&log, Started { run_id, done }).await
    }

    /// A turn to run. Beyond those that go on, only so many may wait.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if self.is_draining() {
            let detail = "the server is ending and takes no more runs";
            return Err(Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "draining", detail));
        }
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

    fn spawn(
        self: &Arc<Self>,
        task: Task,
        run_id: &str,
        engine: EmbeddedEngine,
        work: impl Future<Output = Result<RunReport, JournalError>> + Send + 'static,
    ) -> (Arc<RunLog>, oneshot::Receiver<Result<RunReport, JournalError>>) {
        let log = task.archive.hub.open(run_id);
        let (sender, done) = oneshot::channel();
        let (shared, run_id) = (Arc::clone(self), run_id.to_owned());
        let mut phase = self.phase();
        let running = async move {
            let mut work = std::pin::pin!(work);
            let outcome = tokio::select! {
                outcome = work.as_mut() => outcome,
                () = reach(&mut phase, Phase::Ending) => {
                    engine.shut_down();
                    work.await
                }
            };
            if let Ok(report) = &outcome {
                shared.metrics.run(&task.flow, word(report), report);
            }
            // A run that was interrupted or could not be written down has no end in its log.
            task.archive.hub.close(&run_id);
            // Whoever asked may be gone.
            let _ = sender.send(outcome);
            drop(task.turn);
        };
        let mut runs = self.runs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while runs.try_join_next().is_some() {}
        runs.spawn(running);
        (log, done)
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
                let cancelled = archive.journal.cancel(&started.run_id, self.options.clock.now()).await;
                let left = if cancelled.is_ok() { "and was cancelled" } else { "and ends by itself" };
                let detail = format!("the run took longer than {} s {left}", limit.as_secs());
                Err(Problem::timeout(&started.run_id, detail))
            }
        }
    }
}

/// Waits until the journal has the run, or there is none.
async fn begun(log: &RunLog, mut started: Started) -> Result<Started, Problem> {
    let mut seen = log.watch();
    tokio::select! {
        () = grown(&mut seen, 0) => {}
        outcome = &mut started.done => return ended_at_once(started.run_id, outcome),
    }
    let has_begun = seen.borrow().events > 0;
    if has_begun {
        return Ok(started);
    }
    // The log was closed before anything was written, so the outcome says why.
    let outcome = (&mut started.done).await;
    ended_at_once(started.run_id, outcome)
}

fn ended_at_once(
    run_id: String,
    outcome: Result<Result<RunReport, JournalError>, oneshot::error::RecvError>,
) -> Result<Started, Problem> {
    match outcome {
        Ok(Err(error)) => Err(Problem::journal(&error).of_run(&run_id)),
        Ok(outcome) => {
            let (sender, done) = oneshot::channel();
            let _ = sender.send(outcome);
            Ok(Started { run_id, done })
        }
        Err(_) => {
            let detail = "the server ended before the run began";
            Err(Problem::busy(StatusCode::SERVICE_UNAVAILABLE, "draining", detail))
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
