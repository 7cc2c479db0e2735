//! One upstream as it is asked: its connections, its turns, whether it works, and what its cache holds.
//!
//! Invariant: what is sent goes to the address of the configuration and nowhere else, and the key that goes
//! with it is marked so that nothing prints it.

mod address;
mod breaker;
mod pool;
mod retry_budget;
mod socket;

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use stave_block::Surface;
use stave_canon::Clock;
use stave_llm::FaultClass;
use stave_llm::provider_headers::{self, CREDENTIALS};
use stave_request::planning::{CachePlanners, UpstreamPlanner};
use thiserror::Error;

use self::address::{Address, provider_of};
use self::breaker::{Breaker, Breakers};
use self::pool::{Broken, Connection, Pool};
use self::retry_budget::RetryBudget;
use super::echo::KeyEcho;
use super::queue::{FairQueue, Waiting};
use super::seen::{KnownSpans, SeenPrompts};
use crate::config::{GatewayConfig, GatewayTimeouts, UpstreamConfig};

pub(crate) use self::pool::{BrokenOff, UpstreamBody};

#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) config: UpstreamConfig,
    pub(crate) timeouts: GatewayTimeouts,
    address: Address,
    credential: Option<(HeaderName, HeaderValue)>,
    /// Finds the key in what the upstream says.
    pub(crate) key_echo: Arc<KeyEcho>,
    pool: Arc<Pool>,
    pub(crate) breakers: Breakers,
    pub(crate) retry_budget: RetryBudget,
    pub(crate) queue: Option<Arc<FairQueue>>,
    /// What the provider's cache is believed to hold.
    pub(crate) planner: UpstreamPlanner,
    /// What earlier requests looked like, for those who ask why the cache missed.
    pub(crate) seen: SeenPrompts,
    /// The blocks of earlier requests, so that what a conversation repeats is read once.
    pub(crate) spans: KnownSpans,
}

/// Shorter keys are not looked for in replies: they would be found in ordinary words.
const SHORTEST_KEY: usize = 8;

/// An upstream that cannot be asked as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("upstream `{name}`: {reason}")]
pub struct BadUpstream {
    pub name: String,
    pub reason: String,
}

/// One request as it goes out.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) surface: Surface,
    /// Whether `count_tokens` is a path below the messages.
    pub(crate) counts_tokens: bool,
    /// The client's own query.
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// An attempt that is under way; dropped without a verdict it says nothing about the upstream.
#[derive(Debug)]
pub(crate) struct Attempt<'u> {
    breaker: &'u Breaker,
    is_judged: bool,
}

impl Upstream {
    pub(crate) fn new(
        config: &UpstreamConfig,
        gateway: &GatewayConfig,
        clock: &Arc<dyn Clock>,
        planners: &Arc<dyn CachePlanners>,
        now: f64,
    ) -> Result<Upstream, BadUpstream> {
        let bad = |reason: String| BadUpstream { name: config.name.clone(), reason };
        if config.surfaces().is_empty() {
            return Err(bad(format!(
                "provider {} is not spoken to by the gateway; its server may speak OpenAI's interface",
                config.provider.word()
            )));
        }
        let address = Address::new(config).map_err(bad)?;
        let credential = config.key.as_ref().map(|key| provider_headers::credential(config.provider, key));
        let credential = credential.transpose().map_err(|kind| bad(kind.to_string()))?;
        let queue =
            config.concurrency.map(|turns| FairQueue::new(turns, Waiting::Together(gateway.limits.waiting)));
        Ok(Upstream {
            timeouts: config.timeouts.unwrap_or(gateway.timeouts),
            address,
            credential,
            key_echo: Arc::new(KeyEcho::new(
                config.key.clone().filter(|key| key.expose().len() >= SHORTEST_KEY),
            )),
            pool: Arc::new(Pool::new(Arc::clone(clock))),
            breakers: Breakers::new(gateway.breaker),
            retry_budget: RetryBudget::new(&gateway.retries),
            queue,
            planner: UpstreamPlanner::new(planners, &config.name, now),
            seen: SeenPrompts::default(),
            spans: KnownSpans::default(),
            config: config.clone(),
        })
    }

    /// Whether another configuration would make the same upstream, which can then stay as it is.
    pub(crate) fn is_as(
        &self,
        config: &UpstreamConfig,
        gateway: &GatewayConfig,
        old: &GatewayConfig,
    ) -> bool {
        self.config == *config
            && self.timeouts == config.timeouts.unwrap_or(gateway.timeouts)
            && gateway.breaker == old.breaker
            && gateway.retries == old.retries
            && gateway.limits.waiting == old.limits.waiting
    }

    /// The interface in which it is asked by a client that speaks `surface`.
    pub(crate) fn surface_for(&self, surface: Surface) -> Option<Surface> {
        let surfaces = self.config.surfaces();
        if surfaces.contains(&surface) { Some(surface) } else { surfaces.first().copied() }
    }

    /// Whether a policy means this upstream, by its provider or its host.
    pub(crate) fn is_meant_by(&self, name: &str) -> bool {
        self.config.provider.word() == name || self.address.place.host.eq_ignore_ascii_case(name)
    }

    pub(crate) fn host_name(&self) -> &str {
        &self.address.place.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.place.port
    }

    pub(crate) fn idle_connections(&self) -> usize {
        self.pool.idle_count()
    }

    /// Asks, and waits for the head of the reply. A failure says whether the upstream may have got the request.
    pub(crate) async fn ask(
        &self,
        outgoing: &Outgoing,
        model: &str,
    ) -> Result<Response<UpstreamBody>, (FaultClass, bool)> {
        let request = self.request(outgoing, model).ok_or((FaultClass::NotFound, false))?;
        let mut was_sent = false;
        let exchange = self.exchange(request, &mut was_sent);
        match tokio::time::timeout(self.timeouts.first_byte, exchange).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(class)) => Err((class, was_sent)),
            Err(_) => Err((FaultClass::Timeout, was_sent)),
        }
    }

    /// Connects and sends. `was_sent` says from when on the upstream may have the request.
    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        was_sent: &mut bool,
    ) -> Result<Response<UpstreamBody>, FaultClass> {
        let place = &self.address.place;
        let mut connection = self.connected(self.pool.take(place)).await?;
        *was_sent = true;
        let reply = match connection.send(request.clone()).await {
            // A kept connection may have been closed just when it was used again.
            Err(_) if connection.is_reused => {
                *was_sent = false;
                connection = self.connected(Box::pin(Pool::fresh(place))).await?;
                *was_sent = true;
                connection.send(request).await
            }
            sent => sent,
        };
        let (head, incoming) = reply.map_err(|_| FaultClass::Connection)?.into_parts();
        Ok(Response::from_parts(head, UpstreamBody::new(incoming, connection, Arc::clone(&self.pool))))
    }

    async fn connected(
        &self,
        connecting: impl Future<Output = Result<Connection, Broken>>,
    ) -> Result<Connection, FaultClass> {
        match tokio::time::timeout(self.timeouts.connect, connecting).await {
            Ok(connected) => connected.map_err(|_| FaultClass::Connection),
            Err(_) => Err(FaultClass::Timeout),
        }
    }

    fn request(&self, outgoing: &Outgoing, model: &str) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::new(Full::new(outgoing.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.uri(outgoing, model)?;
        let mut headers = outgoing.headers.clone();
        headers.insert(header::HOST, self.address.host.clone());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = &self.credential {
            for other in CREDENTIALS {
                headers.remove(other);
            }
            headers.insert(name, value.clone());
        }
        // A version that the client names is the client's to choose.
        if let Some((name, value)) =
            provider_headers::version(provider_of(self.config.provider, outgoing.surface))
        {
            headers.entry(name).or_insert(value);
        }
        *request.headers_mut() = headers;
        Some(request)
    }
}

impl<'u> Attempt<'u> {
    pub(crate) fn begin(breaker: &'u Breaker) -> Self {
        Attempt { breaker, is_judged: false }
    }

    pub(crate) fn succeeded(mut self) {
        self.is_judged = true;
        self.breaker.succeeded();
    }

    /// A failure of the upstream; one that the request itself brought about says that the upstream works.
    pub(crate) fn failed(mut self, class: FaultClass, now: std::time::Duration) {
        self.is_judged = true;
        if class.may_pass() && class != FaultClass::RateLimited {
            self.breaker.failed(now);
        } else {
            self.breaker.succeeded();
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_judged {
            self.breaker.abandoned();
        }
    }
}
