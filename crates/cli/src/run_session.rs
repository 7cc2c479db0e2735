//! What every command shares that runs documents itself: who answers models, where runs are kept, and how they end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_canon::Clock;
use stave_exec::Document;
use stave_runtime::journal::SqliteJournal;
use stave_runtime::{EmbeddedEngine, RunReport};
use stave_script::PythonPool;
use tokio::task::JoinHandle;

use crate::contracts::Contracts;
use crate::exit::Stop;
use crate::ports::SystemClock;
use crate::progress::{EventLines, Progress};
use crate::project::Project;
use crate::services::{self, Models, Recorded};
use crate::signals::drain_on_signal;
use crate::tracing::Tracing;
use crate::{files, state_folder, storage};

#[derive(Debug, clap::Args)]
pub(crate) struct RunFlags {
    /// Where runs and session state live; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Keep nothing of the run, so that it cannot be resumed
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Answer model calls from this recording instead of asking a model
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) replay: Option<PathBuf>,
    /// Ask the models, and keep the exchanges in this file with secrets taken out
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Ask the models even when stave.toml names a recording to replay
    #[arg(long, conflicts_with = "replay")]
    pub(crate) live: bool,
}

/// What is shown during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    Nothing,
    /// Lines of JSON on stdout.
    Events,
    /// The tree of nodes on stderr.
    Progress,
}

/// An engine with everything that it needs, until [`RunSession::end`].
pub(crate) struct RunSession {
    pub(crate) engine: EmbeddedEngine,
    /// Where runs are kept; none when nothing of them is.
    pub(crate) journal: Option<SqliteJournal>,
    python: Arc<PythonPool>,
    recorder: Option<(PathBuf, Recorded)>,
    tracing: Tracing,
    progress: Option<Progress>,
    draining: JoinHandle<()>,
}

impl RunFlags {
    fn models(&self, project: &Project) -> Models {
        if let Some(path) = &self.replay {
            return Models::Replay(path.clone());
        }
        match &project.settings.replay {
            Some(path) if !self.live && self.record.is_none() => Models::Replay(project.root.join(path)),
            _ if self.record.is_some() => Models::Record,
            _ => Models::Live,
        }
    }
}

impl RunSession {
    pub(crate) async fn open(
        project: &Project,
        document: &Document,
        flags: &RunFlags,
        watch: Watch,
    ) -> Result<RunSession, Stop> {
        let state_dir = state_folder::of_run(project, flags.state_dir.as_deref(), flags.ephemeral)?;
        let models = flags.models(project);
        // Nobody is asked for replies that could not be kept.
        if let Some(path) = &flags.record {
            files::check_recording_target(path)?;
        }
        let storage = storage::storage(project, document, &state_dir, flags.ephemeral)?;
        retain(project, &state_dir, flags.ephemeral).await?;
        let journal = storage.database.as_ref().map(|database| storage::journal(project, database));
        // A replayed run was held to the bundles of its first one.
        Contracts::of(project)?.admit(document)?;
        let (mut services, recorder) = services::build(project, document, storage, &models)?;
        let tracing = Tracing::of(project);
        services.tracer = tracing.tracer();
        let mut progress = None;
        match watch {
            Watch::Nothing => {}
            Watch::Events => services.observer = Arc::new(EventLines),
            Watch::Progress => {
                let (drawn, watcher) = Progress::start(document);
                services.observer = watcher;
                progress = Some(drawn);
            }
        }
        let python = Arc::clone(&services.python);
        let engine = EmbeddedEngine::new(services);
        let draining = drain_on_signal(&engine);
        let recorder = flags.record.clone().zip(recorder);
        Ok(RunSession { engine, journal, python, recorder, tracing, progress, draining })
    }

    /// Ends the workers and writes the recording, unless a replay of these `runs` of so many requests would miss
    /// exchanges and a recording is there; then `answer` prints, and the collector of traces has what is left of the time.
    pub(crate) async fn end(
        self,
        runs: &[RunReport],
        requests: usize,
        answer: impl FnOnce(),
    ) -> Result<(), Stop> {
        drop(self.progress);
        self.draining.abort();
        self.python.shutdown().await;
        if let Some((path, recorder)) = &self.recorder {
            files::keep_recording(path, &recorder.recording(), gap(runs, requests))?;
        }
        answer();
        self.tracing.finish().await;
        Ok(())
    }
}

/// Why a recording of runs may lack exchanges that a replay needs.
fn gap(runs: &[RunReport], requests: usize) -> Option<&'static str> {
    if runs.iter().any(|run| run.result.is_err()) {
        return Some("a run did not succeed");
    }
    (runs.len() < requests).then_some("not every request was run")
}

/// Takes away ended runs that the project does not keep.
async fn retain(project: &Project, state_dir: &Path, ephemeral: bool) -> Result<(), Stop> {
    let Some(retention) = project.settings.journal.retention().filter(|_| !ephemeral) else { return Ok(()) };
    let journal = storage::journal(project, &storage::database(state_dir)?);
    let retained = journal.retain(retention, SystemClock.now()).await;
    retained.map(drop).map_err(|error| Stop::internal(error.to_string()))
}

/// The runtime that a session lives in.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Stop> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))
}
