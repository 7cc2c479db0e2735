//! A client's request, read once.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::{self, HeaderMap};
use hyper::{StatusCode, body::Incoming};
use stave_block::{Surface, WirePrompt};
use stave_lower::{RequestBody, RequestFault};

use super::cost_bound::CostBound;
use super::delegated::Delegated;
use super::interface::{Endpoint, Fault};
use crate::config::GatewayLimits;
use crate::records::GateDecision;

/// The longest model name that is taken.
const LONGEST_MODEL: usize = 256;

#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) endpoint: Endpoint,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Option<String>,
    /// Always UTF-8.
    pub(crate) body: Bytes,
    pub(crate) model: String,
    pub(crate) is_stream: bool,
    /// Whether a stream of chat completions ends with its counts.
    pub(crate) include_usage: bool,
    /// The most that it may cost.
    pub(crate) bound: CostBound,
    /// The models that the body names beside `model`, which the policies judge as well.
    pub(crate) other_models: Vec<String>,
    /// What the client calls the conversation, among those of its tenant.
    pub(crate) session: Option<String>,
    /// What it is made of; why nobody knows, otherwise.
    pub(crate) wire: Result<WirePrompt, RequestFault>,
    /// What plugins did to it.
    pub(crate) plugins: Vec<GateDecision>,
    /// Whether they changed the body, so that it is no longer the client's.
    pub(crate) is_changed: bool,
}

impl Received {
    pub(crate) fn read(
        endpoint: Endpoint,
        headers: HeaderMap,
        query: Option<String>,
        body: &Bytes,
        tenant: Option<&str>,
    ) -> Result<Received, Fault> {
        let Ok(text) = std::str::from_utf8(body) else {
            return Err(Fault::bad_request("the body is not UTF-8"));
        };
        let read = RequestBody::read(text).map_err(|fault| {
            let message = format!("the body cannot be read: {fault}");
            match fault {
                // Of two members, one would be judged and the other obeyed.
                RequestFault::DuplicateKey { .. } => {
                    Fault::new(StatusCode::BAD_REQUEST, "duplicate_key", message)
                }
                _ => Fault::bad_request(message),
            }
        })?;
        let model = read.text(&["model"]).filter(|model| !model.is_empty());
        let Some(model) = model else { return Err(Fault::bad_request("the body names no model")) };
        if model.len() > LONGEST_MODEL || model.chars().any(char::is_control) {
            return Err(Fault::bad_request("the model's name cannot be one"));
        }
        let delegated = Delegated::read(&read, &model);
        if let (Some(_), Some(member)) = (tenant, &delegated.member) {
            // The models, the budget and the records of a key are those of `model`.
            let message = format!(
                "with a key of this gateway, only `model` names a model, and `{member}` lets another one answer; \
                 the gateway falls back by its routes"
            );
            return Err(Fault::new(StatusCode::FORBIDDEN, "model", message));
        }
        let mut bound = CostBound::read(&read, text)?;
        bound.is_unpriced |= delegated.is_unpriced;
        let surface = endpoint.surface();
        let session = session(&headers, &read, surface).map(|session| match tenant {
            Some(tenant) => format!("{tenant}\0{session}"),
            None => session,
        });
        Ok(Received {
            endpoint,
            query,
            model: model.into_owned(),
            is_stream: read.flag(&["stream"]).unwrap_or_default(),
            include_usage: read.flag(&["stream_options", "include_usage"]).unwrap_or_default(),
            bound,
            other_models: delegated.models,
            session,
            wire: read.wire(surface),
            headers,
            body: body.clone(),
            plugins: Vec::new(),
            is_changed: false,
        })
    }

    /// Puts a changed body in place of the client's. `false` when it cannot be read.
    pub(crate) fn change(&mut self, body: String) -> bool {
        let Ok(read) = RequestBody::read(&body) else { return false };
        let (Ok(mut bound), wire) = (CostBound::read(&read, &body), read.wire(self.surface())) else {
            return false;
        };
        bound.is_unpriced |= self.bound.is_unpriced;
        (self.bound, self.wire) = (bound, wire);
        self.body = Bytes::from(body);
        self.is_changed = true;
        self.wire.is_ok()
    }

    pub(crate) fn surface(&self) -> Surface {
        self.endpoint.surface()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        // It was looked at when it came in.
        std::str::from_utf8(&self.body).unwrap_or_default()
    }
}

/// What the client calls the conversation: in a header, or where its interface has a place for it.
fn session(headers: &HeaderMap, body: &RequestBody<'_>, surface: Surface) -> Option<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let own = || match surface {
        Surface::AnthropicMessages => body.text(&["metadata", "user_id"]),
        _ => body.text(&["prompt_cache_key"]).or_else(|| body.text(&["user"])),
    };
    let found = header("x-stave-session").or_else(|| header("x-claude-code-session-id"));
    found.or_else(|| own().map(std::borrow::Cow::into_owned)).filter(|session| session.len() <= 512)
}

/// The body of a request within its bounds of size and time.
pub(crate) async fn read_body(
    headers: &HeaderMap,
    body: Incoming,
    limits: &GatewayLimits,
) -> Result<Bytes, Fault> {
    if !is_framed_plainly(headers) {
        return Err(Fault::bad_request("the body's transfer encoding is not `chunked` alone").and_close());
    }
    if headers.get("content-encoding").is_some_and(|encoding| encoding != "identity") {
        let message = "the body must not be compressed";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", message));
    }
    let most = limits.body_bytes;
    match tokio::time::timeout(limits.body_reading, collect(body, most)).await {
        Ok(read) => read,
        Err(_) => {
            let message = "the body did not come in time";
            Err(Fault::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", message))
        }
    }
}

/// Whether a body is framed in a way that everybody reads the same. The server takes every list of encodings that
/// ends in `chunked`, undoes that one only, and would leave the rest to the next reader.
fn is_framed_plainly(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => true,
        (Some(only), None) => only.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
}

/// Most bodies come in one piece, which is then not copied.
async fn collect(mut body: Incoming, most: usize) -> Result<Bytes, Fault> {
    use hyper::body::Body as _;
    let too_large = || {
        let message = format!("the body is larger than {most} bytes");
        Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    };
    let expected = body.size_hint();
    if expected.lower() > most as u64 {
        return Err(too_large());
    }
    let mut first = Bytes::new();
    let mut whole: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Fault::bad_request("the body broke off").and_close())?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + whole.len() + data.len() > most {
            return Err(too_large());
        }
        if whole.is_empty() && first.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            let length = usize::try_from(expected.exact().unwrap_or_default()).unwrap_or_default();
            whole.reserve(length.max(first.len() + data.len()));
            whole.extend_from_slice(&first);
            first = Bytes::new();
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() { first } else { whole.into() })
}
