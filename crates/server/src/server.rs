//! The server: what is served, to whom, and within which bounds.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use stave_canon::Clock;
use stave_listen::{FairQueue, Waiting};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::access::Principal;
use crate::bodies::Bodies;
use crate::catalog::Catalog;
use crate::connection;
use crate::keys::{KeyRing, Keys};
use crate::log::ServerLog;
use crate::metrics::Metrics;
use crate::studio::Studio;

/// Bounds on what clients can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest body of a request.
    pub body_bytes: usize,
    /// The most that the bodies of all requests in progress may take together.
    pub held_body_bytes: usize,
    /// The longest that a request waits for its run, which is cancelled then.
    pub request: Duration,
    /// How many runs execute at the same time.
    pub runs: usize,
    /// How many more of each tenant may wait for their turn.
    pub waiting_runs: usize,
    /// The most requests in one batch.
    pub batch: usize,
    /// How many connections are open at the same time.
    pub connections: usize,
    /// How many of them may watch events.
    pub watchers: usize,
    /// How long a client may take to send a request's head, and its body.
    pub reading: Duration,
    /// How long runs are waited for when the server ends.
    pub drain: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            body_bytes: 8 * 1024 * 1024,
            held_body_bytes: 256 * 1024 * 1024,
            request: Duration::from_secs(300),
            runs: 64,
            waiting_runs: 1024,
            batch: 1024,
            connections: 4096,
            watchers: 2048,
            reading: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}

#[derive(Debug)]
pub struct ServerOptions {
    pub keys: KeyRing,
    pub limits: ServerLimits,
    pub clock: Arc<dyn Clock>,
    /// Where what happens is written down for the operator.
    pub log: Arc<dyn ServerLog>,
    /// The version of the program, for those who ask.
    pub version: &'static str,
    /// The studio; without one there is no page.
    pub studio: Option<Studio>,
}

/// Serves flows. Clones serve the same.
#[derive(Debug, Clone)]
pub struct Server(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    catalog: RwLock<Arc<Catalog>>,
    pub(crate) options: ServerOptions,
    pub(crate) metrics: Metrics,
    /// Turns for runs, which tenants share.
    pub(crate) turns: Arc<FairQueue<String>>,
    /// Places for those who watch events.
    pub(crate) watchers: Arc<FairQueue<String>>,
    /// Places for connections, once it is known whose they are.
    pub(crate) seats: Arc<FairQueue<String>>,
    /// Room for bodies of requests.
    pub(crate) bodies: Bodies,
    /// How many runs were quarantined when they were last counted.
    pub(crate) quarantined: AtomicUsize,
    /// Runs, which continue when their clients are gone.
    pub(crate) runs: Mutex<JoinSet<()>>,
    phase: watch::Sender<Phase>,
}

/// How far the server is on its way to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    /// Nothing new is taken, and what is there is waited for.
    Draining,
    /// Runs stop after the step that they are at.
    Ending,
}

impl Server {
    #[must_use]
    pub fn new(catalog: Catalog, options: ServerOptions) -> Server {
        let limits = options.limits;
        let bodies = Bodies::new(&options.keys.current(), &limits);
        let server = Server(Arc::new(Shared {
            catalog: RwLock::new(Arc::new(catalog)),
            bodies,
            options,
            metrics: Metrics::default(),
            turns: FairQueue::new(limits.runs, Waiting::Each(limits.waiting_runs)),
            watchers: FairQueue::new(limits.watchers, Waiting::Each(0)),
            seats: FairQueue::new(limits.connections, Waiting::Each(0)),
            quarantined: AtomicUsize::new(0),
            runs: Mutex::default(),
            phase: watch::Sender::new(Phase::Serving),
        }));
        server.0.share();
        server
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// The flows that are served at the moment.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.catalog()
    }

    /// Serves other flows from here on. Runs that have begun keep their documents.
    pub fn exchange(&self, catalog: Catalog) {
        *self.0.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(catalog);
        self.0.share();
    }

    /// Takes other keys from here on. A request that has begun is finished.
    pub fn exchange_keys(&self, keys: Keys) {
        self.0.bodies.share(&keys, self.0.limits());
        self.0.options.keys.exchange(keys);
        self.0.share();
    }

    /// Resumes, in the background and for as long as the server serves, runs that nobody drives any more. Those whose
    /// request had `auth`, which is never stored, are left to its owner.
    pub fn resume_interrupted(&self) {
        let shared = Arc::clone(&self.0);
        let mut runs = self.0.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.spawn(async move { shared.resume_interrupted().await });
    }

    /// How many runs are in progress or wait for their turn.
    #[must_use]
    pub fn in_progress(&self) -> usize {
        self.0.in_progress()
    }

    /// Answers on a socket until `end` comes. Then no connection and no run is taken any more, and those that
    /// are there are waited for within their bound. Gives the number of runs that were left; the journal has
    /// them, and they can be resumed.
    pub async fn serve(&self, listener: TcpListener, end: impl Future<Output = ()>) -> usize {
        connection::accept(&self.0, listener, end).await
    }
}

impl Shared {
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn limits(&self) -> &ServerLimits {
        &self.options.limits
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    /// Why the server is not ready; nothing while it is. The reasons are for everybody, so they name no project.
    pub(crate) fn unready(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.is_draining() {
            reasons.push("the server is shutting down".to_owned());
        }
        let catalog = self.catalog();
        let mut faults: Vec<String> =
            catalog.archives(&Principal::anyone()).filter_map(|archive| archive.runs.fault()).collect();
        faults.sort();
        faults.dedup();
        reasons.extend(faults.into_iter().map(|fault| format!("runs cannot be written down: {fault}")));
        reasons
    }

    pub(crate) fn quarantined(&self) -> usize {
        self.quarantined.load(Ordering::Relaxed)
    }

    /// Enters the next phase, from which there is no way back.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_modify(|now| *now = phase.max(*now));
    }

    pub(crate) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// How many runs are in progress or wait for their turn.
    pub(crate) fn in_progress(&self) -> usize {
        self.turns.out() + self.turns.waiting()
    }

    /// Lets every tenant that has flows here be sure of its share.
    fn share(&self) {
        let catalog = self.catalog();
        let everyone = Principal::anyone();
        let tenants: BTreeSet<&str> =
            catalog.archives(&everyone).map(|archive| archive.tenant.as_str()).collect();
        let keys = self.options.keys.current();
        let weights: Vec<(String, u32)> =
            tenants.into_iter().map(|tenant| (tenant.to_owned(), keys.weight(tenant))).collect();
        if let Some(studio) = &self.options.studio {
            studio.share(weights.clone());
        }
        self.seats.share(weights.clone());
        self.turns.share(weights.clone());
        self.watchers.share(weights);
    }
}

/// Waits until the server is at a phase or past it.
pub(crate) async fn reach(phase: &mut watch::Receiver<Phase>, least: Phase) {
    // Without a server there is nothing to wait for.
    let _ = phase.wait_for(|phase| *phase >= least).await;
}
