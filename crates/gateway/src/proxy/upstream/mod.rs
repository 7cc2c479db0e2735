//! One upstream as it is asked: its connections, its turns, whether it works, and what its cache holds.
//!
//! Invariant: what is sent goes to the address of the configuration and nowhere else, and the key that goes
//! with it is marked so that nothing prints it.

mod breaker;
mod planner;
mod pool;
mod retry_budget;
mod socket;

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use stave_block::Surface;
use stave_canon::Clock;
use stave_llm::{Provider, Target};
use thiserror::Error;

use self::breaker::{Breaker, Breakers};
use self::planner::UpstreamPlanner;
use self::pool::{Broken, Pool};
use self::retry_budget::RetryBudget;
use self::socket::Place;
use super::echo::KeyEcho;
use super::queue::{FairQueue, Waiting};
use super::seen::SeenPrompts;
use crate::config::{FaultClass, GatewayConfig, GatewayTimeouts, UpstreamConfig};
use crate::planning::CachePlanners;

pub(crate) use self::pool::{BrokenOff, UpstreamBody};

/// The version of Anthropic's interface that is spoken when the client has none to pass on.
const ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) config: UpstreamConfig,
    pub(crate) timeouts: GatewayTimeouts,
    place: Place,
    host: HeaderValue,
    /// What is asked of it for each interface: path and query.
    paths: Vec<(Surface, String)>,
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
    /// `count_tokens` stands below the messages.
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
                config.provider.as_str()
            )));
        }
        let mut paths = Vec::new();
        let mut place = None;
        for surface in config.surfaces() {
            let target = Target {
                provider: provider_of(config.provider, *surface),
                endpoint: config.endpoint.clone(),
                api_key: None,
                model: String::new(),
                api_version: config.api_version.clone(),
            };
            let url = target.url(MODEL).map_err(|kind| bad(kind.to_string()))?;
            let path = match url.query() {
                Some(query) => format!("{}?{query}", url.path()),
                None => url.path().to_owned(),
            };
            paths.push((*surface, path));
            place = Some(Place {
                host: url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
                port: url.port_or_known_default().unwrap_or(80),
                is_encrypted: url.scheme() == "https",
            });
            place = place.filter(|place| !place.host.is_empty());
        }
        let place = place.ok_or_else(|| bad("the endpoint has no host".to_owned()))?;
        let usual = if place.is_encrypted { 443 } else { 80 };
        let name = if place.host.contains(':') { format!("[{}]", place.host) } else { place.host.clone() };
        let host = if place.port == usual { name } else { format!("{name}:{}", place.port) };
        let host = HeaderValue::from_str(&host).map_err(|_| bad("the host cannot be named".to_owned()))?;
        let credential = match &config.key {
            None => None,
            Some(key) => {
                let (name, text) = match config.provider {
                    Provider::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
                    Provider::Azure => (HeaderName::from_static("api-key"), key.expose().to_owned()),
                    _ => (header::AUTHORIZATION, format!("Bearer {}", key.expose())),
                };
                let mut value = HeaderValue::from_str(&text)
                    .map_err(|_| bad("the key cannot be sent in a header".to_owned()))?;
                value.set_sensitive(true);
                Some((name, value))
            }
        };
        let queue =
            config.concurrency.map(|turns| FairQueue::new(turns, Waiting::Together(gateway.limits.waiting)));
        Ok(Upstream {
            timeouts: config.timeouts.unwrap_or(gateway.timeouts),
            place,
            host,
            paths,
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
            config: config.clone(),
        })
    }

    /// Whether another configuration would make the same upstream, which can then go on as it is.
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
        self.config.provider.as_str() == name || self.place.host.eq_ignore_ascii_case(name)
    }

    pub(crate) fn host_name(&self) -> &str {
        &self.place.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.place.port
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
        let connecting = tokio::time::timeout(self.timeouts.connect, self.pool.take(&self.place));
        let mut connection = match connecting.await {
            Ok(Ok(connection)) => connection,
            Ok(Err(_)) => return Err((FaultClass::Connection, false)),
            Err(_) => return Err((FaultClass::Timeout, false)),
        };
        let exchange = async {
            let request = self.request(outgoing, model).ok_or(Broken::Exchange)?;
            match connection.send(request).await {
                // A kept connection may have been closed just when it was used again.
                Err(Broken::Exchange) if connection.is_reused => {
                    let request = self.request(outgoing, model).ok_or(Broken::Exchange)?;
                    connection =
                        tokio::time::timeout(self.timeouts.connect, Box::pin(Pool::fresh(&self.place)))
                            .await
                            .unwrap_or(Err(Broken::Connect))?;
                    connection.send(request).await
                }
                sent => sent,
            }
        };
        let reply = match tokio::time::timeout(self.timeouts.first_byte, exchange).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(broken)) => return Err((FaultClass::Connection, broken == Broken::Exchange)),
            Err(_) => return Err((FaultClass::Timeout, true)),
        };
        let (head, incoming) = reply.into_parts();
        Ok(Response::from_parts(head, UpstreamBody::new(incoming, connection, Arc::clone(&self.pool))))
    }

    fn request(&self, outgoing: &Outgoing, model: &str) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::new(Full::new(outgoing.body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri(outgoing, model)?;
        let mut headers = outgoing.headers.clone();
        headers.insert(header::HOST, self.host.clone());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some((name, value)) = &self.credential {
            for other in CREDENTIALS {
                headers.remove(other);
            }
            headers.insert(name, value.clone());
        }
        if outgoing.surface == Surface::AnthropicMessages && !headers.contains_key("anthropic-version") {
            headers.insert("anthropic-version", ANTHROPIC_VERSION);
        }
        *request.headers_mut() = headers;
        Some(request)
    }

    fn uri(&self, outgoing: &Outgoing, model: &str) -> Option<Uri> {
        let (_, path) = self.paths.iter().find(|(surface, _)| *surface == outgoing.surface)?;
        if !path.contains(MODEL) && !outgoing.counts_tokens && outgoing.query.is_none() {
            return Uri::try_from(path.as_str()).ok();
        }
        let (path, own) = path.split_once('?').map_or((path.as_str(), None), |(path, own)| (path, Some(own)));
        let mut text = path.replace(MODEL, &encoded(model));
        if outgoing.counts_tokens {
            text.push_str("/count_tokens");
        }
        for (index, query) in [own, outgoing.query.as_deref()].into_iter().flatten().enumerate() {
            text.push(if index == 0 { '?' } else { '&' });
            text.push_str(query);
        }
        Uri::try_from(text).ok()
    }
}

/// Headers by which clients and we say who asks.
pub(crate) const CREDENTIALS: [HeaderName; 3] =
    [header::AUTHORIZATION, HeaderName::from_static("x-api-key"), HeaderName::from_static("api-key")];

/// What stands for the model in paths that have it.
const MODEL: &str = "STAVE-MODEL";

/// A name as one segment of a path.
fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The provider whose paths serve an interface.
fn provider_of(provider: Provider, surface: Surface) -> Provider {
    match (provider, surface) {
        (Provider::Azure, _) => Provider::Azure,
        (_, Surface::OpenAiResponses) => Provider::OpenAiResponses,
        (_, Surface::AnthropicMessages) => Provider::Anthropic,
        (_, Surface::OpenAiChat | Surface::GeminiGenerateContent) => Provider::OpenAi,
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
