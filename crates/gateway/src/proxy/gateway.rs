//! The gateway: what it is set up to do, who may ask, and where what happened is written down.

use std::sync::{Arc, PoisonError, RwLock};

use stave_canon::{Clock, Ids};
use stave_request::planning::CachePlanners;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::heavy_work::{HeavyWork, heavy_work};
use super::listener;
use super::metrics::Metrics;
use super::setup::{BadSetup, Setup};
use crate::config::GatewayConfig;
use crate::keys::VirtualKeys;
use crate::records::RecordSink;
use crate::trace::RequestTracer;

/// What a gateway needs of its surroundings.
#[derive(Debug)]
pub struct GatewayOptions {
    pub keys: Arc<VirtualKeys>,
    pub sink: RecordSink,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
    /// Who plans for the caches of upstreams.
    pub planners: Arc<dyn CachePlanners>,
    /// Who traces requests, if anyone does.
    pub tracer: Option<Arc<dyn RequestTracer>>,
    /// The version of the program, for those who ask.
    pub version: &'static str,
}

/// Answers clients. Clones answer the same.
#[derive(Debug, Clone)]
pub struct Gateway(Arc<Core>);

#[derive(Debug)]
pub(crate) struct Core {
    setup: RwLock<Arc<Setup>>,
    pub(crate) keys: Arc<VirtualKeys>,
    pub(crate) sink: RecordSink,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) tracer: Option<Arc<dyn RequestTracer>>,
    planners: Arc<dyn CachePlanners>,
    /// What the clock's time since its fixed point has to be added to, to be seconds since 1970.
    epoch: f64,
    pub(crate) version: &'static str,
    pub(crate) metrics: Metrics,
    /// Work on large bodies, whatever the configuration.
    pub(crate) heavy_work: HeavyWork,
    phase: watch::Sender<Phase>,
}

/// How far the gateway is on its way to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    /// Nothing new is taken, and what is there is waited for.
    Draining,
}

impl Gateway {
    pub fn new(config: GatewayConfig, options: GatewayOptions) -> Result<Gateway, BadSetup> {
        let GatewayOptions { keys, sink, clock, ids, planners, tracer, version } = options;
        let now = clock.now().as_millisecond() as f64 / 1000.0;
        let epoch = now - clock.elapsed().as_secs_f64();
        let setup = Setup::new(config, &clock, &planners, now, None)?;
        Ok(Gateway(Arc::new(Core {
            setup: RwLock::new(Arc::new(setup)),
            keys,
            sink,
            clock,
            ids,
            tracer,
            planners,
            epoch,
            version,
            metrics: Metrics::default(),
            heavy_work: heavy_work(),
            phase: watch::Sender::new(Phase::Serving),
        })))
    }

    /// Switches to another configuration. Requests that have begun keep theirs; no connection is dropped.
    pub fn exchange(&self, config: GatewayConfig) -> Result<(), BadSetup> {
        let before = self.0.setup();
        let Core { clock, planners, .. } = &*self.0;
        let setup = Setup::new(config, clock, planners, self.0.seconds(), Some(&before))?;
        *self.0.setup.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(setup);
        Ok(())
    }

    /// Answers on a socket until `end` comes. Then no connection is taken any more, and requests that have
    /// begun are waited for within their bound. Gives the number of requests that were broken off.
    pub async fn serve(&self, listener: TcpListener, end: impl Future<Output = ()>) -> usize {
        listener::accept(&self.0, listener, end).await
    }
}

impl Core {
    pub(crate) fn setup(&self) -> Arc<Setup> {
        Arc::clone(&self.setup.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.phase.borrow() != Phase::Serving
    }

    pub(crate) fn drain(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    pub(crate) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Seconds since 1970 for planners: what one process learned means something to the next, and a clock that is
    /// set meanwhile does not matter.
    pub(crate) fn seconds(&self) -> f64 {
        self.epoch + self.clock.elapsed().as_secs_f64()
    }
}
