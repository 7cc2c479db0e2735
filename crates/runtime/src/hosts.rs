//! One exchange with a host: over the network, or with someone who answers in its place.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, RequestBuilder, Response};
use stave_diag::codes::run as codes;
use stave_engine::{Failure, FailureKind};
use stave_llm::SecretSearch;
use url::Url;

use crate::http::HttpClient;
use crate::redirects::{self, MayHave};

/// Someone who answers in the place of hosts, or listens to what they answer.
pub trait Hosts: Send + Sync + std::fmt::Debug {
    /// The reply to a request; `None` lets the request go out.
    fn answer(&self, asked: &HostRequest) -> Option<HostReply>;

    /// Told after a host has answered.
    fn heard(&self, asked: &HostRequest, reply: &HostReply);
}

/// What a host is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRequest {
    pub method: String,
    pub url: Url,
    pub body: Vec<u8>,
}

/// What a host answered.
#[derive(Debug, Clone, PartialEq)]
pub struct HostReply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// How long the host thinks first, when it is not a real one.
    pub delay: Duration,
}

impl HostReply {
    /// A reply of this status and body, said to be of this type.
    #[must_use]
    pub fn new(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let mut reply = HostReply { status, headers: HeaderMap::new(), body, delay: Duration::ZERO };
        reply.header("content-type", content_type);
        reply
    }

    /// Adds a header; one that cannot be sent is left out.
    pub fn header(&mut self, name: &str, value: &str) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            self.headers.insert(name, value);
        }
    }
}

impl HttpClient {
    /// Sends a request and reads the reply, of which at most `limit` bytes. `secrets` are those that the request may
    /// carry; `may_have` answers whether the target of a redirect may be given the request's data.
    pub(crate) async fn exchange(
        &self,
        request: RequestBuilder,
        limit: usize,
        secrets: &SecretSearch,
        may_have: MayHave<'_>,
    ) -> Result<HostReply, Failure> {
        let mut request = request.build().map_err(|error| transport_failure(&error))?;
        // One time for all redirects and the body.
        let timeout = request.timeout_mut().take();
        let Some(hosts) = self.hosts() else {
            return within(timeout, self.reply(request, limit, secrets, may_have)).await;
        };
        let asked = HostRequest {
            method: request.method().as_str().to_owned(),
            url: request.url().clone(),
            body: request.body().and_then(|body| body.as_bytes()).unwrap_or_default().to_vec(),
        };
        if let Some(reply) = hosts.answer(&asked) {
            if let Some(limit) = timeout.filter(|limit| *limit < reply.delay) {
                tokio::time::sleep(limit).await;
                return Err(no_answer());
            }
            tokio::time::sleep(reply.delay).await;
            return Ok(reply);
        }
        let reply = within(timeout, self.reply(request, limit, secrets, may_have)).await?;
        hosts.heard(&asked, &reply);
        Ok(reply)
    }

    async fn reply(
        &self,
        request: Request,
        limit: usize,
        secrets: &SecretSearch,
        may_have: MayHave<'_>,
    ) -> Result<HostReply, Failure> {
        read(redirects::send(self, request, secrets, may_have).await?, limit).await
    }
}

async fn within<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(no_answer())),
        None => work.await,
    }
}

async fn read(response: Response, limit: usize) -> Result<HostReply, Failure> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| transport_failure(&error))?;
        if body.len() + chunk.len() > limit {
            let message = format!("the reply is larger than {limit} bytes");
            return Err(Failure::new(codes::HTTP_FAILED, FailureKind::Upstream, message));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HostReply { status, headers, body, delay: Duration::ZERO })
}

/// The address is left out, since its path or query may hold a secret.
pub(crate) fn transport_failure(error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        return no_answer();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let message = format!("the request failed: {cause}");
    Failure::new(codes::HTTP_FAILED, FailureKind::Upstream, message).retryable()
}

fn no_answer() -> Failure {
    Failure::new(codes::STEP_TIMEOUT, FailureKind::Timeout, "the host did not answer in time").retryable()
}
