//! The worker that a server is for Restate.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_exec::Document;
use stave_runtime::{Services, StepKinds};
use stave_scale::{Kept, ProjectKey, Projects, RestateClient, Worker, WorkerOptions};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::engines::ProjectEngines;
use crate::args::Serve;
use crate::exit::Stop;
use crate::opcua;
use crate::ports::SystemClock;
use crate::project::Project;
use crate::{restate, storage, terminal};

/// Where a worker listens when nobody says where.
const LISTEN: &str = "127.0.0.1:9080";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A worker that Restate knows.
pub(super) struct Working {
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// The projects whose runs this process does for Restate.
#[derive(Debug, Default)]
pub(super) struct ServedProjects(Mutex<HashMap<ProjectKey, Arc<ProjectEngines>>>);

impl Working {
    /// Begins to listen for Restate, and registers the address there.
    pub(super) async fn start(
        arguments: &Serve,
        project: &Project,
        client: Arc<RestateClient>,
        projects: Arc<ServedProjects>,
    ) -> Result<Working, Stop> {
        let settings = &project.settings;
        let listen = arguments.worker_listen.as_ref().or(settings.engine.worker_listen.as_ref());
        let listen = listen.map_or(LISTEN, String::as_str);
        let address: SocketAddr = listen
            .parse()
            .map_err(|_| Stop::invalid(format!("`{listen}` is not an address and a port to listen on")))?;
        let listener = stave_scale::listen(address)
            .map_err(|error| Stop::internal(format!("{address} cannot be listened on: {error}")))?;
        let address = listener.local_addr().unwrap_or(address);
        let url = arguments.worker_url.as_ref().or(settings.engine.worker_url.as_ref());
        let url = url.cloned().unwrap_or_else(|| format!("http://{address}"));
        let days = settings.journal.keep_days.and_then(|days| u32::try_from(days).ok());
        let options = WorkerOptions::default();
        let retention = days.map_or(options.retention, |days| DAY.saturating_mul(days));
        let kinds = StepKinds::with(opcua::plants(project).as_ref());
        let options = WorkerOptions { retention, kinds };
        let worker = Worker::new(client, projects, Arc::new(SystemClock), options);
        let (end, ended) = oneshot::channel();
        let drain = Duration::from_secs(arguments.drain_seconds);
        let serving = worker.clone();
        let task = tokio::spawn(async move {
            // A sender that is gone says the same.
            let end = async { ended.await.unwrap_or_default() };
            serving.serve(listener, end, drain).await;
        });
        let registered = worker.register(&url).await;
        registered.map_err(|error| {
            Stop::internal(format!("Restate did not take the worker at {url}: {error}"))
                .help("Restate must be able to reach that address; --worker-url names another")
        })?;
        terminal::error(&format!("working for Restate at {url}"));
        Ok(Working { end, task })
    }

    /// Lets the steps in progress finish; Restate hands everything else to another worker.
    pub(super) async fn end(self) {
        let _ = self.end.send(());
        let _ = self.task.await;
    }
}

impl ServedProjects {
    pub(super) fn add(&self, engines: &Arc<ProjectEngines>) {
        let mut served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        served.insert(restate::key(&engines.applied().project), Arc::clone(engines));
    }
}

impl Projects for ServedProjects {
    fn services(&self, project: &ProjectKey, document: &Document, kept: Kept) -> Result<Services, String> {
        let engines = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(project).cloned();
        let engines = engines.ok_or_else(|| {
            format!("this worker has no project `{}` of `{}`", project.repo, project.tenant)
        })?;
        let Kept { state, journal } = kept;
        let applied = engines.applied();
        storage::storage_elsewhere(&applied.project, document, &engines.database, journal, state)
            .and_then(|storage| engines.services(&applied, document, storage))
            .map_err(|stop| stop.to_string())
    }
}
