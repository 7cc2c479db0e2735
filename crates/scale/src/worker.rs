//! A worker: the endpoint that Restate calls, and what its services share.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::Method;
use restate_sdk::endpoint::Endpoint;
use restate_sdk::hyper::HyperEndpoint;
use restate_sdk::prelude::{HandlerOptions, IntoServiceDefinition, ServiceOptions};
use stave_canon::{Clock, Value};
use stave_exec::Document;
use stave_runtime::interpreter::{self, Interpreter};
use stave_runtime::journal::{Journal, Times};
use stave_runtime::plan::Plan;
use stave_runtime::state::StateStore;
use stave_runtime::{ConcurrencyLimits, Failure, RunReport, Services, StepKinds};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::client::RestateClient;
use crate::error::ScaleError;
use crate::keys::ProjectKey;
use crate::services::{CallsObject, RunWorkflow, SessionObject, StateObject, StepService, StoreObject};
use crate::state::RestateState;
use crate::step_journal::StepJournal;
use crate::store::Store;

/// How many documents a worker keeps ready.
const READY_DOCUMENTS: usize = 64;
/// The longest that one step may work without a sign of life: longer than any run.
const SILENCE: Duration = Duration::from_secs(24 * 60 * 60);
/// How many calls go over one connection. Small enough that several workers behind one address all get some.
const STREAMS: u32 = 8;
/// How long a connection takes calls. Restate then opens another, so that workers which came later get some too.
const CONNECTION_AGE: Duration = Duration::from_secs(60);
/// How long a run that waits keeps its place at a worker before Restate puts it aside until something happens.
const IDLE: Duration = Duration::from_secs(60);

/// What is kept by Restate instead of by the project's own stores.
#[derive(Debug, Clone)]
pub struct Kept {
    pub state: Arc<dyn StateStore>,
    pub journal: Arc<dyn Journal>,
}

/// The projects whose runs a worker does.
pub trait Projects: Send + Sync + std::fmt::Debug {
    /// The ports for runs of a document. The error is for the operator.
    fn services(&self, project: &ProjectKey, document: &Document, kept: Kept) -> Result<Services, String>;
}

#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// How long a run is kept after its end.
    pub retention: Duration,
    /// The step kinds that the runtime does not have itself.
    pub kinds: StepKinds,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions { retention: Duration::from_secs(30 * 24 * 60 * 60), kinds: StepKinds::default() }
    }
}

/// Does the runs that Restate hands out.
#[derive(Debug, Clone)]
pub struct Worker(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) client: Arc<RestateClient>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retention: Duration,
    kinds: StepKinds,
    projects: Arc<dyn Projects>,
    concurrency: Arc<ConcurrencyLimits>,
    /// What was made ready last, by project and hash, the newest last.
    ready: Mutex<Vec<(ProjectKey, String, Arc<Prepared>)>>,
    journals: Mutex<HashMap<ProjectKey, Arc<StepJournal>>>,
}

/// A document, ready to be run.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) document: Arc<Document>,
    pub(crate) services: Services,
    pub(crate) journal: Arc<StepJournal>,
    plan: Result<Arc<Plan>, Failure>,
}

impl Worker {
    #[must_use]
    pub fn new(
        client: Arc<RestateClient>,
        projects: Arc<dyn Projects>,
        clock: Arc<dyn Clock>,
        options: WorkerOptions,
    ) -> Worker {
        Worker(Arc::new(Shared {
            store: Store::new(Arc::clone(&client)),
            client,
            clock,
            retention: options.retention,
            kinds: options.kinds,
            projects,
            concurrency: Arc::default(),
            ready: Mutex::default(),
            journals: Mutex::default(),
        }))
    }

    /// Answers Restate's calls on a socket until `end` comes, then lets the calls in progress finish for a while.
    /// What is left is done by another worker, or by this one when it is back.
    pub async fn serve(&self, listener: TcpListener, end: impl Future<Output = ()>, drain: Duration) {
        let endpoint = HyperEndpoint::new(self.endpoint());
        let mut connections = JoinSet::new();
        let (ending, _) = tokio::sync::watch::channel(false);
        let mut end = std::pin::pin!(end);
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // Too many files are open; some will be closed.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
                () = &mut end => break,
            };
            // Small messages go back and forth, and none should wait for the next.
            let _ = stream.set_nodelay(true);
            let mut ending = ending.subscribe();
            let connection = http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(STREAMS)
                .serve_connection(TokioIo::new(stream), endpoint.clone());
            while connections.try_join_next().is_some() {}
            connections.spawn(async move {
                let mut connection = std::pin::pin!(connection);
                tokio::select! {
                    // What became of a connection is known to its caller.
                    _ = connection.as_mut() => {}
                    () = async {
                        let age = tokio::time::timeout(CONNECTION_AGE, ending.wait_for(|ending| *ending));
                        let _ = age.await;
                    } => {
                        connection.as_mut().graceful_shutdown();
                        let _ = connection.await;
                    }
                }
            });
        }
        drop(listener);
        ending.send_replace(true);
        let _ = tokio::time::timeout(drain, async { while connections.join_next().await.is_some() {} }).await;
    }

    /// Registers the address of this worker with Restate. The address must lead to it, or to something that hands on to
    /// several workers of the same version.
    pub async fn register(&self, address: &str) -> Result<(), ScaleError> {
        let body = Value::from_iter([("uri", Value::from(address)), ("force", true.into())]);
        self.0.client.admin(Method::POST, "/deployments", &body).await.map(drop)
    }

    fn endpoint(&self) -> Endpoint {
        let shared = || Arc::clone(&self.0);
        let patient = || {
            ServiceOptions::new()
                .inactivity_timeout(IDLE)
                .abort_timeout(SILENCE)
                .retry_policy_initial_interval(Duration::from_millis(50))
                .retry_policy_exponentiation_factor(2.0)
                .retry_policy_max_interval(Duration::from_secs(5))
                .retry_policy_max_attempts(u64::from(u32::MAX))
                // What a run has done is in its state, and what others have done is in the run's.
                .journal_retention(Duration::ZERO)
        };
        let brief = || patient().idempotency_retention(Duration::from_secs(3600));
        let run = HandlerOptions::new().workflow_retention(self.0.retention);
        let step = brief().ingress_private(true).inactivity_timeout(SILENCE);
        Endpoint::builder()
            .bind(RunWorkflow(shared()).into_service_definition().options(patient().handler("run", run)))
            .bind(StepService(shared()).into_service_definition().options(step))
            .bind(SessionObject.into_service_definition().options(brief()))
            .bind(StateObject.into_service_definition().options(brief()))
            .bind(CallsObject.into_service_definition().options(brief()))
            .bind(StoreObject.into_service_definition().options(brief()))
            .build()
    }
}

/// Opens a socket for workers. Several workers of one machine may listen on the same address; the machine hands
/// out connections among them.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket =
        if address.is_ipv4() { tokio::net::TcpSocket::new_v4() } else { tokio::net::TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    #[cfg(unix)]
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    socket.listen(1024)
}

impl Shared {
    /// A document of a project, made ready once for the runs that share it.
    pub(crate) async fn prepared(
        &self,
        project: &ProjectKey,
        hash: &str,
    ) -> Result<Arc<Prepared>, ScaleError> {
        if let Some(prepared) = self.ready(project, hash) {
            return Ok(prepared);
        }
        let document = Arc::new(self.store.document(project, hash).await?);
        let journal = self.journal(project);
        let state = RestateState { client: Arc::clone(&self.client), project: project.clone() };
        let kept = Kept { state: Arc::new(state), journal: Arc::clone(&journal) as Arc<dyn Journal> };
        let services = self.projects.services(project, &document, kept).map_err(ScaleError::Setup)?;
        let plan = Plan::new(Arc::clone(&document), &self.kinds).map(Arc::new);
        let prepared = Arc::new(Prepared { document, services, journal, plan });
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.len() >= READY_DOCUMENTS {
            ready.remove(0);
        }
        ready.push((project.clone(), hash.to_owned(), Arc::clone(&prepared)));
        Ok(prepared)
    }

    fn ready(&self, project: &ProjectKey, hash: &str) -> Option<Arc<Prepared>> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let found = ready.iter().find(|(of, name, _)| of == project && name == hash);
        found.map(|(_, _, prepared)| Arc::clone(prepared))
    }

    fn journal(&self, project: &ProjectKey) -> Arc<StepJournal> {
        let mut journals = self.journals.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(StepJournal::new(Arc::clone(&self.client), project.clone()));
        Arc::clone(journals.entry(project.clone()).or_insert_with(new))
    }
}

impl Prepared {
    /// A run of the document; the report of one that is refused.
    pub(crate) fn interpreter(
        &self,
        shared: &Shared,
        run: &str,
        request: &str,
        times: Times,
    ) -> Result<Result<Interpreter, Box<RunReport>>, ScaleError> {
        let request = stave_canon::parse(request).map_err(|error| ScaleError::Damaged(error.to_string()))?;
        let plan = match &self.plan {
            Ok(plan) => Arc::clone(plan),
            Err(failure) => {
                return Ok(Err(Box::new(interpreter::refused(run, &self.document, failure.clone()))));
            }
        };
        let (services, concurrency) = (self.services.clone(), Arc::clone(&shared.concurrency));
        Ok(Interpreter::new(services, concurrency, plan, run, &request, times))
    }
}
