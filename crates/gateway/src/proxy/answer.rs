//! The answer as the client gets it: the upstream's own bytes, its words in the client's interface, or ours.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Response, StatusCode};
use stave_block::Surface;
use stave_canon::Value;
use stave_llm::codec::{AnswerFault, Envelope};
use stave_llm::{FaultClass, StreamEvent};

use super::echo::{EchoMask, upstream_key, without_key};
use super::entry::Entry;
use super::headers::{is_event_stream, is_packed, own_headers, passed_on};
use super::interface::{Fault, codec, json, whole};
use super::reply::{Reply, ReplyBody};
use super::tally::Tally;
use super::tap::Tap;
use super::upstream::UpstreamBody;
use crate::records::{Digest, RequestOutcome};

/// A request that an upstream answered, or that we answered for it.
pub(super) struct Answered {
    pub(super) head: Option<Parts>,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// The upstream's bytes are passed on.
    Pass(UpstreamBody, Duration),
    /// They are turned into the client's words.
    Translate { body: UpstreamBody, from: Surface, idle: Duration, envelope: Envelope, is_stream: bool },
    /// An error, whole.
    Error { body: Bytes, from: Surface },
    /// A count of tokens that no upstream was asked for.
    Counted(u64),
}

/// The answer as the client gets it. Its record is written when it has passed.
pub(super) async fn reply(mut entry: Box<Entry>, head: Option<Parts>, kind: Kind) -> Reply {
    let surface = entry.endpoint.surface();
    let mut headers = HeaderMap::new();
    own_headers(&entry, &mut headers);
    let mut reply = match kind {
        Kind::Counted(tokens) => {
            entry.record.status = 200;
            entry.record.outcome = RequestOutcome::Answered;
            json(StatusCode::OK, &Value::from_iter([("input_tokens", tokens)]))
        }
        Kind::Error { body, from } => error(&mut entry, head, body, from),
        Kind::Pass(body, idle) => {
            let Some(mut head) = head else { return silent(FaultClass::ServerError).into_reply(surface) };
            let is_stream = is_event_stream(&head.headers);
            entry.traced.answers(surface, is_stream);
            let is_packed = is_packed(&head.headers);
            let tap = match is_stream {
                _ if is_packed => Tap::opaque(surface),
                true => Tap::stream(surface),
                false => Tap::whole(surface),
            };
            passed_on(&mut head.headers);
            without_key(&mut head.headers, upstream_key(&entry).as_deref());
            let status = head.status;
            let mut reply =
                Response::new(ReplyBody::passing(body, tap, is_stream && !is_packed, idle, entry));
            *reply.status_mut() = status;
            *reply.headers_mut() = head.headers;
            reply
        }
        Kind::Translate { body, from, idle, envelope, is_stream } => {
            let comes_in_events = head.as_ref().is_some_and(|head| is_event_stream(&head.headers));
            if comes_in_events && is_stream {
                entry.traced.answers(surface, true);
                let body = ReplyBody::translated(body, from, surface, envelope, idle, entry);
                let mut reply = Response::new(body);
                reply.headers_mut().insert(
                    header::CONTENT_TYPE,
                    HeaderValue::from_static("text/event-stream; charset=utf-8"),
                );
                reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                reply
            } else {
                Box::pin(translate_whole(entry, body, from, &envelope, is_stream)).await
            }
        }
    };
    reply.headers_mut().extend(headers);
    reply
}

/// An answer that came whole, in the client's words.
async fn translate_whole(
    mut entry: Box<Entry>,
    body: UpstreamBody,
    from: Surface,
    envelope: &Envelope,
    is_stream: bool,
) -> Reply {
    let surface = entry.endpoint.surface();
    let most = entry.setup.config.limits.reply_bytes;
    let idle = entry.setup.config.timeouts.first_byte;
    let reading = Limited::new(body, most).collect();
    let mut tally = Tally::new(from);
    let response = match tokio::time::timeout(idle, reading).await {
        Ok(Ok(body)) => {
            let bytes = body.to_bytes();
            match std::str::from_utf8(&bytes) {
                Ok(text) => tally.whole(text),
                Err(_) => tally.opaque(),
            }
            stave_canon::parse_bytes(&bytes).ok().and_then(|value| codec(from).decode_response(value).ok())
        }
        // Nobody knows what was on its way.
        _ => {
            tally.opaque();
            None
        }
    };
    entry.charge(&tally);
    let Some(response) = response else {
        entry.record.outcome = RequestOutcome::Failed;
        entry.record.status = 502;
        let message = "the upstream's reply cannot be read";
        return Fault::new(StatusCode::BAD_GATEWAY, "upstream_unreadable", message).into_reply(surface);
    };
    entry.traced.answered(&response);
    entry.record.outcome = RequestOutcome::Answered;
    let (media_type, text) = if is_stream {
        let mut encoder = codec(surface).stream_encoder(envelope.clone());
        let mut text = String::new();
        StreamEvent::of(&response).into_iter().for_each(|event| encoder.encode(event, &mut text));
        encoder.finish(&mut text);
        ("text/event-stream; charset=utf-8", text)
    } else {
        ("application/json", codec(surface).encode_response(&response, envelope).to_string())
    };
    let mut mask = EchoMask::of_events(upstream_key(&entry));
    let text = [mask.pass(text.into()), mask.finish()].concat();
    entry.record.response_bytes = text.len() as u64;
    entry.record.response_hash = Some(Digest::of(&text));
    whole(StatusCode::OK, HeaderValue::from_static(media_type), text)
}

/// An upstream's error: its own bytes, or its words in the client's interface.
fn error(entry: &mut Entry, head: Option<Parts>, body: Bytes, from: Surface) -> Reply {
    let surface = entry.endpoint.surface();
    let Some(mut head) = head else { return silent(FaultClass::ServerError).into_reply(surface) };
    without_key(&mut head.headers, upstream_key(entry).as_deref());
    entry.record.status = head.status.as_u16();
    entry.record.durations.first_byte = Some(entry.elapsed());
    let status = head.status;
    if status.is_redirection() {
        // Neither we nor the client follow it: keys and prompts go to the hosts of the configuration only.
        entry.record.status = StatusCode::BAD_GATEWAY.as_u16();
        let message = "the upstream redirects to another address, which is not followed";
        return Fault::new(StatusCode::BAD_GATEWAY, "upstream_redirects", message).into_reply(surface);
    }
    if from == surface && !body.is_empty() {
        passed_on(&mut head.headers);
        head.headers.remove(header::CONTENT_LENGTH);
        entry.record.response_bytes = body.len() as u64;
        entry.record.response_hash = Some(Digest::of(&body));
        let mut reply = Response::new(ReplyBody::whole(body));
        *reply.status_mut() = status;
        *reply.headers_mut() = head.headers;
        return reply;
    }
    let told = codec(from).decode_error(&body);
    let fault = AnswerFault { status: status.as_u16(), message: told.message, code: told.code };
    let mut reply = json(status, &codec(surface).encode_error(&fault));
    for name in [header::RETRY_AFTER, HeaderName::from_static("retry-after-ms")] {
        if let Some(value) = head.headers.remove(&name) {
            reply.headers_mut().insert(name, value);
        }
    }
    reply
}

/// What we say when nobody answered.
pub(super) fn silent(class: FaultClass) -> Fault {
    match class {
        FaultClass::Timeout => {
            Fault::new(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", "the upstream did not answer in time")
        }
        FaultClass::Overloaded => {
            let message = "no upstream for this model can be asked at the moment";
            Fault::new(StatusCode::SERVICE_UNAVAILABLE, "upstream_unavailable", message)
                .after(Some(Duration::from_secs(5)))
        }
        FaultClass::NotFound => {
            Fault::new(StatusCode::NOT_FOUND, "model_not_found", "no upstream can have a model of this name")
        }
        _ => Fault::new(StatusCode::BAD_GATEWAY, "upstream_unreachable", "the upstream cannot be reached"),
    }
}
