//! Follows the redirects of a host, without sending what the request carries to anyone else.
//!
//! Invariants: a request stays at the host that it was sent to; what the host says about another one is handed back.
//! At another port or scheme of that host only headers arrive that are known to hold no secret. An address that
//! repeats a secret is followed at the same origin only.

use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, USER_AGENT,
};
use reqwest::{Method, Request, Response, StatusCode};
use stave_diag::codes::run as codes;
use stave_llm::SecretSearch;
use url::Url;

use crate::hosts::transport_failure;
use crate::http::HttpClient;
use stave_engine::{Failure, FailureKind};

const MOST: usize = 5;

/// The headers that another origin may see.
const HARMLESS: [HeaderName; 4] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Whether an address may be given the data of a request, by the labels of that data.
pub(crate) type MayHave<'m> = &'m (dyn Fn(&Url) -> bool + Sync);

/// Sends a request and follows what its host says.
pub(crate) async fn send(
    http: &HttpClient,
    mut request: Request,
    secrets: &SecretSearch,
    may_have: MayHave<'_>,
) -> Result<Response, Failure> {
    for _ in 0..=MOST {
        // A body that cannot be sent again is sent once; those of flows are texts, which can.
        let again = request.try_clone();
        let response = http.client().execute(request).await.map_err(|error| transport_failure(&error))?;
        let Some(again) = again else { return Ok(response) };
        match next(http, again, &response, secrets, may_have) {
            Some(next) => request = next,
            None => return Ok(response),
        }
    }
    let message = format!("the host redirects more than {MOST} times");
    Err(Failure::new(codes::HTTP_FAILED, FailureKind::Upstream, message))
}

/// The request that a reply asks for, when it may be made.
fn next(
    http: &HttpClient,
    request: Request,
    reply: &Response,
    secrets: &SecretSearch,
    may_have: MayHave<'_>,
) -> Option<Request> {
    let keeps_method = match reply.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => false,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => return None,
    };
    let location = reply.headers().get(LOCATION)?;
    let target = request.url().join(std::str::from_utf8(location.as_bytes()).ok()?).ok()?;
    if target.host() != request.url().host() || http.refusal(&target).is_some() || !may_have(&target) {
        return None;
    }
    let stays = is_same_origin(request.url(), &target);
    if !stays && (secrets.is_in(location.as_bytes()) || secrets.is_in(target.as_str().as_bytes())) {
        return None;
    }
    let mut request = request;
    *request.url_mut() = target;
    if !keeps_method && request.method() != Method::HEAD {
        *request.method_mut() = Method::GET;
        *request.body_mut() = None;
        request.headers_mut().remove(CONTENT_TYPE);
        request.headers_mut().remove(CONTENT_LENGTH);
    }
    if !stays {
        drop_secret_headers(request.headers_mut());
    }
    Some(request)
}

/// Scheme, host and port: another port may belong to somebody else.
fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Any header of a flow may be a secret, whatever its name and wherever its value came from.
fn drop_secret_headers(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> = headers.keys().cloned().collect();
    for name in names {
        if !HARMLESS.contains(&name) && name.as_str() != IDEMPOTENCY_KEY {
            headers.remove(name);
        }
    }
}
