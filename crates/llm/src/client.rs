//! The provider client: HTTP with bounded time and size, retries, and streams.
//!
//! Invariant: a key leaves this module only as the value of one header that is marked sensitive. Redirects are
//! not followed, since a key must not travel to a host that nobody named.

mod build;
mod exchange;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use stave_canon::Clock;

pub use self::build::{BuiltHttpClient, http_client};
use self::exchange::Exchange;
use crate::codec::codec_of;
use crate::{
    Attempt, CONNECT_TIMEOUT, CallObserver, CallOptions, Error, ErrorKind, Jitter, Reply, Request, Target,
    Transport, provider_headers,
};

/// What holds for every call of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOptions {
    pub connect_timeout: Duration,
    /// The largest reply, in bytes, that is read.
    pub max_body: usize,
    /// A proxy for all calls, as a URL.
    pub proxy: Option<String>,
}

/// Talks to providers over HTTP. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    clock: Arc<dyn Clock>,
    max_body: usize,
    connect_timeout: Duration,
    /// Whether this machine has certificates to trust; without them only plain HTTP works.
    has_roots: bool,
}

impl Default for ClientOptions {
    fn default() -> Self {
        ClientOptions { connect_timeout: CONNECT_TIMEOUT, max_body: 32 << 20, proxy: None }
    }
}

impl Client {
    /// A client with its own pool of connections. The clock reads a `Retry-After` that is a date.
    pub fn new(options: &ClientOptions, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let proxy = options
            .proxy
            .as_deref()
            .map(reqwest::Proxy::all)
            .transpose()
            .map_err(|_| ErrorKind::Target("the proxy is not a URL".to_owned()))?;
        let http = http_client(|builder| {
            let builder =
                builder.redirect(reqwest::redirect::Policy::none()).connect_timeout(options.connect_timeout);
            match &proxy {
                Some(proxy) => builder.proxy(proxy.clone()),
                None => builder,
            }
        });
        let http = http.map_err(|error| ErrorKind::Transport(error.without_url().to_string()))?;
        let connect_timeout = options.connect_timeout;
        Ok(Client {
            http: http.client,
            clock,
            max_body: options.max_body,
            connect_timeout,
            has_roots: http.has_roots,
        })
    }
}

#[async_trait]
impl Transport for Client {
    async fn send(
        &self,
        request: &Request,
        target: &Target,
        options: &CallOptions,
        observer: &dyn CallObserver,
    ) -> Result<Reply, Error> {
        let request = if request.model.is_empty() {
            Cow::Owned(Request { model: target.model.clone(), ..request.clone() })
        } else {
            Cow::Borrowed(request)
        };
        let url = target.url(&request.model)?;
        target.check_key()?;
        if url.scheme() == "https" && !self.has_roots {
            let message =
                "this machine has no CA certificates, so no https address can be trusted; install them";
            return Err(ErrorKind::Target(message.to_owned()).into());
        }
        let codec = codec_of(target.provider)
            .ok_or_else(|| ErrorKind::Target(format!("provider {} has no client", target.provider)))?;
        let encoded = codec.encode_request(&request);
        let exchange = Exchange {
            client: self,
            codec,
            url,
            headers: headers(target)?,
            body: Bytes::from(observer.body(encoded.body.to_string())),
            api_key: target.api_key.as_ref(),
            streams: request.stream,
            timeouts: options.timeouts,
            observer,
        };
        let mut jitter = Jitter::seeded(options.jitter_seed);
        let mut attempts = Vec::new();
        loop {
            let failure = match exchange.attempt().await {
                Ok(response) => {
                    attempts.push(Attempt { error: None, wait: None });
                    return Ok(Reply { response, attempts, notes: encoded.notes });
                }
                Err(failure) => failure,
            };
            let made = u32::try_from(attempts.len()).unwrap_or(u32::MAX).saturating_add(1);
            let wait = options.retry.wait(made, failure.kind.attempt_failure(), jitter.draw());
            // The observer takes back what it has shown, so it is asked only when another attempt follows.
            let wait = wait.filter(|_| !failure.output_seen || observer.restart());
            let attempt = Attempt { error: Some(failure.kind.clone()), wait };
            let Some(wait) = wait else {
                attempts.push(attempt);
                return Err(Error { kind: failure.kind, attempts });
            };
            observer.retry(&attempt);
            attempts.push(attempt);
            tokio::time::sleep(wait).await;
            if !observer.permits_retry().await {
                return Err(Error { kind: failure.kind, attempts });
            }
        }
    }
}

fn headers(target: &Target) -> Result<HeaderMap, ErrorKind> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.extend(provider_headers::version(target.provider));
    if let Some(key) = &target.api_key {
        let (name, value) = provider_headers::credential(target.provider, key)?;
        headers.insert(name, value);
    }
    Ok(headers)
}
