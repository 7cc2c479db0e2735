//! Requests in and replies out, as bytes with a type.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use stave_canon::Value;
use stave_shape::{FaultKind, Faults, Shape};

use crate::body_weight;
use crate::problem::Problem;

/// The run that a reply is about.
pub(crate) const RUN_ID: HeaderName = HeaderName::from_static("x-stave-run-id");

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;
pub(crate) type Reply = Response<Body>;

/// The value that a reply was written from. Debug builds keep it beside the reply to compare it with its declaration.
#[derive(Debug, Clone)]
pub(crate) struct JsonBody(pub(crate) Value);

/// A reply that is whole.
pub(crate) fn reply(status: StatusCode, media_type: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()).boxed_unsync());
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    reply
}

pub(crate) fn json(status: StatusCode, value: &Value) -> Reply {
    let mut reply = reply(status, "application/json", value.to_string());
    if cfg!(debug_assertions) {
        reply.extensions_mut().insert(JsonBody(value.clone()));
    }
    reply
}

/// A reply of a declared type.
pub(crate) fn typed(status: StatusCode, body: &impl Shape) -> Reply {
    json(status, &body.write())
}

/// A reply of a declared type about one run.
pub(crate) fn typed_of_run(status: StatusCode, body: &impl Shape, run_id: &str) -> Reply {
    json_of_run(status, &body.write(), run_id)
}

/// A reply about one run.
pub(crate) fn json_of_run(status: StatusCode, value: &Value, run_id: &str) -> Reply {
    let mut reply = json(status, value);
    if let Ok(run_id) = HeaderValue::from_str(run_id) {
        reply.headers_mut().insert(RUN_ID, run_id);
    }
    reply
}

/// The body of a request, which must be JSON by its type.
pub(crate) async fn read<B>(headers: &HeaderMap, body: B, limit: usize) -> Result<Bytes, Problem>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // A page of another site cannot send JSON without asking first, so nothing else is taken.
    let media_type = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    if !media_type.is_none_or(is_json) {
        let detail = "the body must be application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", detail));
    }
    let too_large = || {
        let detail = format!("the body is larger than {limit} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail)
    };
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let bytes = match Limited::new(body, limit).collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => return Err(too_large()),
        Err(_) => return Err(Problem::bad_request("the body broke off")),
    };
    if !bytes.is_empty() && media_type.is_none() {
        let detail = "a body needs `content-type: application/json`";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", detail));
    }
    Ok(bytes)
}

/// A body that is short, and whose values are too many.
pub(crate) fn too_many_values() -> Problem {
    let most = body_weight::MOST / (1024 * 1024);
    let detail = format!("the body has too many values: in memory they would take more than {most} MiB");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", detail)
}

/// The value of a body; an empty one is an empty object.
pub(crate) fn value(bytes: &[u8]) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Ok(Value::Object(Default::default()));
    }
    stave_canon::parse_untrusted_bytes(bytes)
        .map_err(|error| Problem::bad_request(format!("the body is not JSON: {error}")))
}

/// What is wrong with a body, each fault with its place.
pub(crate) fn does_not_fit(faults: &Faults) -> Problem {
    let shown = faults.0.iter().map(|fault| match &fault.kind {
        FaultKind::UnknownKey { known, .. } => {
            let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            format!("{fault}; known are {known}")
        }
        _ => fault.to_string(),
    });
    Problem::bad_request(format!("the body does not fit: {}", shown.collect::<Vec<_>>().join("; ")))
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
