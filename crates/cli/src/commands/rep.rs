//! `stave rep`: this runtime for an orchestrator that speaks REP, on stdin and stdout.
//!
//! Invariant: stdout carries replies and nothing else, stderr carries nothing while requests are answered,
//! and the process ends soon after SIGTERM or the end of its input, whatever its runs are doing. Runs that
//! were in progress can be resumed.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_canon::Object;
use stave_diag::{Diagnostic, Sources, render};
use stave_exec::Document;
use stave_lower::hold_to_project;
use stave_runtime::database::Database;
use stave_runtime::opcua::Opcua;
use stave_runtime::rep::{self, Host, MAX_LINE_BYTES, OrchestratorEnvironment};
use stave_runtime::{RunLimits, Services};
use tokio::sync::mpsc;

use crate::admission::{Entrant, Verified, admit};
use crate::contracts::Contracts;
use crate::exit::{Exit, Stop};
use crate::opcua;
use crate::project::{self, Project};
use crate::services::{self, Models};
use crate::tracing::Tracing;
use crate::{state_folder, storage};

/// How many requests and replies may wait.
const QUEUE: usize = 1024;

/// How long the end may wait for a collector; an orchestrator that stops the process waits for 200 ms.
const LAST_SENDING: Duration = Duration::from_secs(1);
const LAST_SENDING_WHEN_STOPPED: Duration = Duration::from_millis(50);

/// Serves an orchestrator that speaks REP, on stdin and stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
One JSON-RPC request a line on stdin, one reply a line on stdout:
  {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"Runtime.Capabilities\", \"params\": {}}

Methods: Runtime.Capabilities, Runtime.StartRun, Runtime.Poll, Runtime.Cancel, Runtime.Health.
docs/rep.md says what each takes and gives.")]
pub(crate) struct Rep {
    /// Where runs and session state live; `.stave` in the project's folder when absent
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Keep nothing of the runs, so that they cannot be resumed
    #[arg(long)]
    ephemeral: bool,
    /// With `[signing] required`: the folder of a signed compile, whose flows may run
    #[arg(long, value_name = "DIR")]
    compiled: Option<PathBuf>,
    /// Hold every run to this runtime bundle or system document, beside the one that stave.toml names
    #[arg(long, value_name = "FILE", visible_alias = "contracts")]
    bundle: Option<PathBuf>,
}

pub(crate) fn rep(arguments: &Rep) -> Result<Exit, Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let mut project = Project::of(Path::new(project::FILE), &mut sources, &mut diagnostics)?;
    project.also_held_to.clone_from(&arguments.bundle);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Stop::invalid(format!("{}: {}", project::FILE, render::summary(&diagnostics)))
            .help("`stave check stave.toml` says what is wrong"));
    }
    let compiled = arguments.compiled.as_deref();
    let verified = compiled.map(|folder| Verified::read(folder, &project)).transpose()?.unwrap_or_default();
    let state_dir = state_folder::of_run(&project, arguments.state_dir.as_deref(), arguments.ephemeral)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    let (tracing, _) = {
        let _inside = runtime.enter();
        Tracing::quietly_of(&project)
    };
    let ephemeral = arguments.ephemeral;
    let host = ProjectHost {
        policy: services::policy(&project)?,
        contracts: Contracts::of(&project)?,
        project,
        verified,
        state_dir,
        ephemeral,
        database: Mutex::default(),
        tracing: tracing.clone(),
    };
    let (incoming, requests) = mpsc::channel(QUEUE);
    let (replies, mut outgoing) = mpsc::channel::<String>(QUEUE);
    // Both wait for the peer, so each has a thread that the end of the process does not wait for.
    std::thread::spawn(move || {
        let mut input = BufReader::new(std::io::stdin().lock());
        // An input that cannot be read any further has ended.
        let _ = rep::read_lines(&mut input, MAX_LINE_BYTES, &incoming);
    });
    let writer = std::thread::spawn(move || {
        let mut output = std::io::stdout().lock();
        while let Some(reply) = outgoing.blocking_recv() {
            let written = output.write_all(reply.as_bytes()).and_then(|()| output.write_all(b"\n"));
            if written.and_then(|()| output.flush()).is_err() {
                return;
            }
        }
    });
    let is_stopped = runtime.block_on(async {
        tokio::select! {
            () = rep::serve(&host, requests, replies) => false,
            () = stopped() => true,
        }
    });
    if !is_stopped {
        // The last replies still have to be written.
        let _ = writer.join();
    }
    let left = if is_stopped { LAST_SENDING_WHEN_STOPPED } else { LAST_SENDING };
    runtime.block_on(tracing.finish_within(left));
    runtime.shutdown_background();
    Ok(Exit::Fine)
}

/// Waits until somebody wants the process to end.
#[cfg(unix)]
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        // Without handlers the signals end the process by themselves.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

#[cfg(not(unix))]
async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The project in whose folder the process was started.
struct ProjectHost {
    project: Project,
    /// The documents that a trusted key vouches for.
    verified: Verified,
    /// What documents are held to.
    policy: Object,
    /// What the bundles of the project promise.
    contracts: Contracts,
    state_dir: PathBuf,
    ephemeral: bool,
    /// Opened for the first run, because asking for capabilities leaves no file behind.
    database: Mutex<Option<Arc<Database>>>,
    tracing: Tracing,
}

impl ProjectHost {
    fn database(&self) -> Result<Arc<Database>, Stop> {
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*database {
            return Ok(Arc::clone(open));
        }
        let open = storage::database(&self.state_dir)?;
        *database = Some(Arc::clone(&open));
        Ok(open)
    }

    fn build(&self, document: &Document) -> Result<Services, Stop> {
        admit(&self.project, &Entrant::Sent { document, verified: &self.verified })?;
        self.contracts.admit(document)?;
        let storage = if self.ephemeral {
            storage::storage(&self.project, document, &self.state_dir, true)?
        } else {
            storage::storage_of(&self.project, document, &self.database()?)?
        };
        let models = match &self.project.settings.replay {
            Some(path) => Models::Replay(self.project.root.join(path)),
            None => Models::Live,
        };
        let (mut services, _) = services::build(&self.project, document, storage, &models)?;
        services.tracer = self.tracing.tracer();
        Ok(services)
    }
}

impl Host for ProjectHost {
    fn services(&self, document: &Document) -> Result<Services, String> {
        self.build(document).map_err(|stop| match stop.help {
            Some(help) => format!("{}; {help}", stop.message),
            None => stop.message,
        })
    }

    fn held(&self, mut document: Document) -> Document {
        hold_to_project(&mut document, &self.policy);
        // A document that they refuse gets no services, so it does not run.
        let _ = self.contracts.hold(&mut document);
        document
    }

    fn concurrency(&self) -> usize {
        let limit = self.project.settings.limits.parallel_steps;
        limit.map_or(RunLimits::default().parallel_steps, |steps| steps as usize)
    }

    fn orchestrator(&self) -> Result<OrchestratorEnvironment, String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        OrchestratorEnvironment::read(variable)
    }

    fn opcua(&self) -> Option<Arc<dyn Opcua>> {
        opcua::plants(&self.project)
    }
}
