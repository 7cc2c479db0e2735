//! Restate's HTTP interfaces: the ingress that takes calls, and the admin interface that knows everything.
//!
//! Every call that is made here may be made twice with the same effect as once, so a node that does not answer is
//! left for the next one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use stave_canon::Value;

use crate::error::ScaleError;
use crate::keys::in_path;

/// How often a call is tried before it is given up.
const TRIES: u32 = 40;
/// How long is waited before the next try, at most.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// How long one try of a call may take that answers at once.
const SHORT: Duration = Duration::from_secs(60);
/// How long one try of a call may take that waits for a run. The run continues whatever becomes of the call.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);
const QUERY: &str = "/query";
/// What Restate answers to a call that it has already.
const KNOWN: &str = "PreviouslyAccepted";
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Where Restate is. Several addresses are those of the nodes of one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    pub admin: Vec<String>,
    pub ingress: Vec<String>,
}

/// A call that Restate has.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) invocation: String,
    /// Whether Restate had it before.
    pub(crate) is_known: bool,
}

/// Calls Restate.
#[derive(Debug)]
pub struct RestateClient {
    http: reqwest::Client,
    addresses: Addresses,
    /// The node that answered last, of each kind.
    admin: AtomicUsize,
    ingress: AtomicUsize,
}

/// Which interface is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    Admin,
    Ingress,
}

/// One request, before it is known to which node it goes.
struct Asked<'a> {
    interface: Interface,
    method: Method,
    path: &'a str,
    headers: HeaderMap,
    body: Bytes,
    limit: Duration,
    /// Whether the answer that something is not there is final.
    may_be_absent: bool,
}

impl RestateClient {
    pub fn new(addresses: Addresses) -> Result<RestateClient, ScaleError> {
        for address in addresses.admin.iter().chain(&addresses.ingress) {
            let is_address = reqwest::Url::parse(address).is_ok_and(|url| url.has_host());
            if !is_address {
                return Err(ScaleError::BadAddress(address.clone()));
            }
        }
        if addresses.admin.is_empty() || addresses.ingress.is_empty() {
            return Err(ScaleError::Setup("Restate has no address".to_owned()));
        }
        let http = stave_llm::http_client(|builder| {
            builder.connect_timeout(Duration::from_secs(3)).redirect(reqwest::redirect::Policy::none())
        })
        .map_err(|error| ScaleError::Setup(error.to_string()))?;
        let (admin, ingress) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(RestateClient { http: http.client, addresses, admin, ingress })
    }

    /// Calls a handler of an object or a workflow and gives its answer.
    pub(crate) async fn call(
        &self,
        service: &str,
        key: &str,
        handler: &str,
        body: &Value,
    ) -> Result<Value, ScaleError> {
        let path = format!("/{service}/{}/{handler}", in_path(key));
        let answer = self.ask(Asked::json(Method::POST, &path, body)).await?;
        json(&answer)
    }

    /// The same for a call that waits until something has happened.
    pub(crate) async fn wait_for(
        &self,
        service: &str,
        key: &str,
        handler: &str,
        body: &Value,
    ) -> Result<Value, ScaleError> {
        let path = format!("/{service}/{}/{handler}", in_path(key));
        let answer = self.ask(Asked { limit: LONG, ..Asked::json(Method::POST, &path, body) }).await?;
        json(&answer)
    }

    /// The same with bytes, which are kept as they are.
    pub(crate) async fn call_bytes(
        &self,
        service: &str,
        key: &str,
        handler: &str,
        body: Bytes,
    ) -> Result<Bytes, ScaleError> {
        let path = format!("/{service}/{}/{handler}", in_path(key));
        let mut asked = Asked { body, ..Asked::json(Method::POST, &path, &Value::Null) };
        if asked.body.is_empty() {
            // A handler that takes nothing wants to be given nothing of any kind.
            asked.headers.remove(CONTENT_TYPE);
        } else {
            asked.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        }
        self.ask(asked).await
    }

    /// The answer of a handler that takes nothing.
    pub(crate) async fn read(&self, service: &str, key: &str, handler: &str) -> Result<Value, ScaleError> {
        json(&self.call_bytes(service, key, handler, Bytes::new()).await?)
    }

    /// Hands a call over, which is durable when this returns. Calls with the same
    /// key for what is done once are one call.
    pub(crate) async fn send(
        &self,
        service: &str,
        key: &str,
        handler: &str,
        body: &Value,
        once: Option<&str>,
    ) -> Result<Sent, ScaleError> {
        let path = format!("/{service}/{}/{handler}/send", in_path(key));
        let mut asked = Asked::json(Method::POST, &path, body);
        if let Some(once) = once.and_then(|once| HeaderValue::from_str(once).ok()) {
            asked.headers.insert(IDEMPOTENCY_KEY, once);
        }
        let answer = json(&self.ask(asked).await?)?;
        let text = |member: &str| answer.get(member).and_then(Value::as_str);
        let invocation = text("invocationId").map(str::to_owned);
        let invocation = invocation.ok_or_else(|| ScaleError::Damaged("a call has no id".to_owned()))?;
        Ok(Sent { invocation, is_known: text("status") == Some(KNOWN) })
    }

    /// Waits for the end of a workflow and returns its result.
    pub(crate) async fn attach(&self, service: &str, key: &str) -> Result<Value, ScaleError> {
        let path = format!("/restate/workflow/{service}/{}/attach", in_path(key));
        let mut asked = Asked::json(Method::GET, &path, &Value::Null);
        asked.headers.remove(CONTENT_TYPE);
        json(&self.ask(Asked { limit: LONG, body: Bytes::new(), ..asked }).await?)
    }

    /// The rows of a query.
    pub(crate) async fn query(&self, query: &str) -> Result<Vec<Value>, ScaleError> {
        let body = Value::from_iter([("query", query)]);
        let mut asked = Asked { interface: Interface::Admin, ..Asked::json(Method::POST, QUERY, &body) };
        asked.headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static("application/json"));
        let answer = json(&self.ask(asked).await?)?;
        let rows = answer.get("rows").and_then(Value::as_array);
        Ok(rows.ok_or_else(|| ScaleError::Damaged("a query has no rows".to_owned()))?.to_vec())
    }

    /// Asks the admin interface for something.
    pub(crate) async fn admin(&self, method: Method, path: &str, body: &Value) -> Result<Value, ScaleError> {
        let asked =
            Asked { interface: Interface::Admin, may_be_absent: true, ..Asked::json(method, path, body) };
        let answer = self.ask(asked).await?;
        if answer.is_empty() { Ok(Value::Null) } else { json(&answer) }
    }

    /// Asks node after node until one answers.
    async fn ask(&self, asked: Asked<'_>) -> Result<Bytes, ScaleError> {
        let (nodes, last) = match asked.interface {
            Interface::Admin => (&self.addresses.admin, &self.admin),
            Interface::Ingress => (&self.addresses.ingress, &self.ingress),
        };
        let mut wait = Duration::from_millis(20);
        let mut tries = 0;
        loop {
            let at = last.load(Ordering::Relaxed);
            let Some(address) = nodes.get(at % nodes.len()) else {
                return Err(ScaleError::Setup("Restate has no address".to_owned()));
            };
            let failed = match self.ask_node(address, &asked).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            tries += 1;
            if !failed.passes(&asked) || tries >= TRIES {
                return Err(failed);
            }
            // Another caller that noticed has moved to the next node already.
            let _ = last.compare_exchange(at, at.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed);
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn ask_node(&self, address: &str, asked: &Asked<'_>) -> Result<Bytes, ScaleError> {
        let url = format!("{}{}", address.trim_end_matches('/'), asked.path);
        let unreachable = |error: &reqwest::Error| {
            let mut reason = error.to_string();
            let mut source = std::error::Error::source(error);
            while let Some(error) = source {
                reason = error.to_string();
                source = error.source();
            }
            ScaleError::Unreachable { address: address.to_owned(), reason }
        };
        let request = self
            .http
            .request(asked.method.clone(), url)
            .headers(asked.headers.clone())
            .timeout(asked.limit)
            .body(asked.body.clone());
        let answer = request.send().await.map_err(|error| unreachable(&error))?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(|error| unreachable(&error))?;
        if status.is_success() {
            return Ok(body);
        }
        let told = stave_canon::parse_bytes(&body).ok();
        let message = told.as_ref().and_then(|told| told.get("message")).and_then(Value::as_str);
        let message = message.map_or_else(|| String::from_utf8_lossy(&body).into_owned(), str::to_owned);
        Err(ScaleError::Refused { address: address.to_owned(), status: status.as_u16(), message })
    }
}

impl<'a> Asked<'a> {
    fn json(method: Method, path: &'a str, body: &Value) -> Asked<'a> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = Bytes::from(body.to_string());
        Asked {
            interface: Interface::Ingress,
            method,
            path,
            headers,
            body,
            limit: SHORT,
            may_be_absent: false,
        }
    }
}

impl ScaleError {
    /// Whether another try, perhaps at another node, may do better.
    fn passes(&self, asked: &Asked<'_>) -> bool {
        match self {
            ScaleError::Unreachable { .. } => true,
            // A node that has just begun does not know the services of its cluster yet.
            ScaleError::Refused { status: 404, message, .. } => {
                !asked.may_be_absent && message.contains("register")
            }
            // A cluster that has just lost or found a node cannot look into all of its parts.
            ScaleError::Refused { status: 500, .. } => asked.path == QUERY,
            ScaleError::Refused { status, .. } => matches!(status, 429 | 502 | 503 | 504),
            ScaleError::BadAddress(_) | ScaleError::Damaged(_) | ScaleError::Setup(_) => false,
        }
    }
}

fn json(answer: &Bytes) -> Result<Value, ScaleError> {
    stave_canon::parse_bytes(answer).map_err(|error| ScaleError::Damaged(error.to_string()))
}
