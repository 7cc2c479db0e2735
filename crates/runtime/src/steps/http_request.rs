//! `http.get` and `http.post`: one request to a host that the project allows.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};
use stave_canon::{Object, Value};
use stave_diag::codes::project::UNLISTED_SECRET;
use stave_diag::codes::run as codes;
use stave_llm::{FaultClass, SecretSearch};
use stave_operations::{Descriptor, HTTP_GET, HTTP_POST, SecretUse};
use stave_script::address::HostPort;
use stave_script::header_names::is_of_the_client;
use url::Url;

use super::{Step, StepOutput, address_argument, bad_argument, optional_argument};
use crate::hosts::HostReply;
use crate::interpolate::add_secret_names;
use crate::labels::{self, Receiver};
use crate::{Failure, failure::FailureKind, port, run::Call};

/// How much of an error's body is shown.
const SHOWN_BODY: usize = 300;

#[derive(Debug)]
pub(super) struct HttpRequest {
    descriptor: &'static Descriptor,
    post: bool,
}

impl HttpRequest {
    pub(super) const GET: HttpRequest = HttpRequest { descriptor: &HTTP_GET, post: false };
    pub(super) const POST: HttpRequest = HttpRequest { descriptor: &HTTP_POST, post: true };
}

#[async_trait]
impl Step for HttpRequest {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let request = self.request(call)?;
        call.count().await?;
        let limit = call.services.limits.http_body_bytes;
        let secrets = call.services.secrets.in_answers(&self.secrets(call));
        // A redirect can lead to another port, which may be given less.
        let may_have =
            |target: &Url| labels::admit(call, Receiver::Host(HostPort::of_url(target).as_ref())).is_ok();
        let HostReply { status, headers, body, .. } =
            call.services.http.exchange(request, limit, &secrets, &may_have).await?;
        let expected = expected_statuses(call)?;
        let accepted =
            if expected.is_empty() { (200..300).contains(&status) } else { expected.contains(&status) };
        let retry_after = stave_llm::retry_after(&headers, call.services.clock.as_ref());
        let is_json = content_type(&headers).is_some_and(|kind| kind.contains("json"));
        if !accepted {
            let said = String::from_utf8_lossy(&body);
            let said = secrets.hide(&said);
            let shown: String = said.chars().take(SHOWN_BODY).collect();
            let message = format!("the host answered {status}");
            let mut failure = Failure::new(codes::HTTP_FAILED, FailureKind::Upstream, message);
            failure.retryable = FaultClass::of_status(status).is_some_and(FaultClass::may_pass);
            failure.retry_after = retry_after;
            let details: Value =
                [("status", Value::from(u32::from(status))), ("body", shown.into())].into_iter().collect();
            return Err(failure.details(details));
        }
        // A port for text takes the reply as it came, whatever the host says it is.
        let wants_text = matches!(call.node.outputs.as_slice(), [sole] if sole.is_text());
        let mut body = parse_body(&body, is_json && !wants_text)?;
        secrets.hide_in(&mut body);
        if call.node.outputs.len() == 1 {
            return Ok(StepOutput::Whole(body));
        }
        let mut result = Object::new();
        result.insert("status".into(), u32::from(status).into());
        result.insert("headers".into(), response_headers(&headers, &secrets).into());
        result.insert("body".into(), body);
        Ok(StepOutput::Ports(result))
    }
}

/// The names of the secrets that these arguments have.
fn secrets(call: &Call<'_>, arguments: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for argument in arguments.iter().filter_map(|name| call.with.get(*name)) {
        add_secret_names(argument, &mut names);
    }
    names
}

impl HttpRequest {
    /// The names of the secrets in all arguments that may have some.
    fn secrets(&self, call: &Call<'_>) -> BTreeSet<String> {
        let listed = self.descriptor.arguments.iter();
        let may_have = listed.filter(|argument| argument.secrets != SecretUse::Refused);
        secrets(call, &may_have.map(|argument| argument.name).collect::<Vec<_>>())
    }

    fn request(&self, call: &Call<'_>) -> Result<RequestBuilder, Failure> {
        let scope = call.scope();
        let with_secrets = scope.with_secrets(&call.services.secrets);
        let address = address_argument(call, &with_secrets, "url")?;
        let mut url =
            Url::parse(&address).map_err(|error| bad_argument("url", &format!("a URL ({error})")))?;
        if let Some(Value::Object(query)) = optional_argument(call, &with_secrets, "query")? {
            let mut pairs = url.query_pairs_mut();
            for (name, value) in &query {
                pairs.append_pair(name, &port::text(value)?);
            }
        }
        let refuse = |reason| Err(Failure::new(codes::HOST_NOT_ALLOWED, FailureKind::Refused, reason));
        let host = HostPort::of_url(&url);
        // The host may be the secret itself, so the host of an address that has one is not shown.
        let is_shown = secrets(call, &["url"]).is_empty();
        for name in self.secrets(call) {
            if call.services.secrets.refusal(&name, host.as_ref()).is_some() {
                let shown = host.as_ref().filter(|_| is_shown);
                let refusal = call.services.secrets.refusal(&name, shown);
                let reason = refusal.map_or_else(String::new, |refusal| refusal.to_string());
                return Err(Failure::new(UNLISTED_SECRET, FailureKind::Refused, reason));
            }
        }
        if let Some(reason) = call.services.http.refusal(&url) {
            let reason = if is_shown { reason } else { "the host of the address is not allowed".to_owned() };
            return refuse(reason);
        }
        labels::admit(call, Receiver::Host(host.as_ref()))?;
        let method = if self.post { Method::POST } else { Method::GET };
        let is_listed = call.services.http.lists(&url);
        let mut request = call.services.http.client().request(method, url);
        let mut headers = HeaderMap::new();
        if let Some(Value::Object(given)) = optional_argument(call, &with_secrets, "headers")? {
            for (name, value) in &given {
                headers.insert(header_name(name)?, header_value(name, &port::text(value)?)?);
            }
        }
        // A host that the project lists may know which trace the request is part of; any other may not.
        if is_listed && let Some(parent) = call.span.trace_parent() {
            let parent = header_value("traceparent", &parent.to_string())?;
            headers.entry(HeaderName::from_static("traceparent")).or_insert(parent);
        }
        if self.post {
            // The key is the same for every attempt, so a host that knows it acts once.
            let key = header_value("Idempotency-Key", call.idempotency_key)?;
            headers.entry(HeaderName::from_static("idempotency-key")).or_insert(key);
            if let Some(body) = optional_argument(call, &scope, "body")? {
                let (kind, text) = match body {
                    Value::String(text) => ("text/plain; charset=utf-8", text),
                    other => ("application/json", other.to_string()),
                };
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
                request = request.body(text);
            }
        }
        if let Some(timeout) = optional_argument(call, &scope, "timeout_ms")? {
            let timeout = timeout.as_i64().and_then(|timeout| u64::try_from(timeout).ok());
            let timeout =
                timeout.ok_or_else(|| bad_argument("timeout_ms", "a whole number of milliseconds"))?;
            request = request.timeout(Duration::from_millis(timeout));
        }
        Ok(request.headers(headers))
    }
}

fn expected_statuses(call: &Call<'_>) -> Result<Vec<u16>, Failure> {
    let one = |value: &Value| {
        let status = value.as_i64().and_then(|status| u16::try_from(status).ok());
        status.ok_or_else(|| bad_argument("expect_status", "a status or a list of them"))
    };
    match call.with.get("expect_status") {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(one).collect(),
        Some(value) => Ok(vec![one(value)?]),
    }
}

fn header_name(name: &str) -> Result<HeaderName, Failure> {
    if is_of_the_client(name) {
        let wanted = format!("without `{name}`, which only the client itself sets");
        return Err(bad_argument("headers", &wanted));
    }
    name.parse()
        .map_err(|_| bad_argument("headers", &format!("made of valid names, and `{name}` is not one")))
}

/// The value is not shown, since it may hold a secret.
fn header_value(name: &str, value: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| bad_argument("headers", &format!("made of valid values, and `{name}` has none")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A header that repeats a secret keeps its name and loses that part of its value.
fn response_headers(headers: &HeaderMap, secrets: &SecretSearch) -> Object {
    let text = |value: &HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        Value::from(secrets.hide(&text).into_owned())
    };
    let name = |name: &HeaderName| secrets.hide(name.as_str()).into_owned();
    headers.iter().map(|(header, value)| (name(header), text(value))).collect()
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok())
}

/// A JSON reply becomes its value; any other reply is text.
fn parse_body(body: &[u8], is_json: bool) -> Result<Value, Failure> {
    if is_json {
        return stave_canon::parse_bytes(body).map_err(|error| {
            let message = format!("the reply says it is JSON and is not: {error}");
            Failure::new(codes::HTTP_FAILED, FailureKind::Upstream, message)
        });
    }
    let text = String::from_utf8(body.to_vec()).map_err(|_| {
        Failure::new(codes::HTTP_FAILED, FailureKind::Upstream, "the reply is neither JSON nor UTF-8 text")
    })?;
    Ok(Value::String(text))
}
