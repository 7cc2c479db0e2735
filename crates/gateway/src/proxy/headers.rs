//! Which headers go from one side to the other, and which are ours.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use stave_block::Surface;
use stave_llm::provider_headers::CREDENTIALS;

use super::entry::Entry;
use super::received::Received;
use super::traced::{TRACE_PARENT, TRACE_STATE};

/// The id that we gave the request.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-stave-request-id");
/// The upstream that answered.
const UPSTREAM: HeaderName = HeaderName::from_static("x-stave-upstream");
/// How often upstreams were asked, when it was more than once.
const ATTEMPTS: HeaderName = HeaderName::from_static("x-stave-attempts");
/// What was planned for the cache.
const CACHE: HeaderName = HeaderName::from_static("x-stave-cache");
/// Which part of ours failed, when the request was sent as it came because of it.
const FAILED_OPEN: HeaderName = HeaderName::from_static("x-stave-failed-open");

pub(super) fn own_headers(entry: &Entry, headers: &mut HeaderMap) {
    let record = &entry.record;
    let mut put = |name: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(text) {
            headers.insert(name, value);
        }
    };
    if let Some(upstream) = &record.upstream {
        put(UPSTREAM, upstream);
    }
    if let Some(reason) = &record.not_planned {
        put(CACHE, reason);
    } else if !record.breakpoints.is_empty() {
        put(CACHE, &format!("marks={}", record.breakpoints.len()));
    }
    if let Some(reason) = &record.failed_open {
        put(FAILED_OPEN, reason);
    }
    attempts_header(entry, headers);
}

/// Says how often upstreams were asked, also when none of them answered.
pub(super) fn attempts_header(entry: &Entry, headers: &mut HeaderMap) {
    if entry.record.attempts > 1 {
        headers.insert(ATTEMPTS, HeaderValue::from(entry.record.attempts));
    }
}

/// Headers that belong to one connection, and those that we answer for ourselves.
const NOT_PASSED_ON: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Takes out what belongs to the connection that a message came over.
pub(super) fn passed_on(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in NOT_PASSED_ON.iter().chain(&named) {
        headers.remove(name);
    }
    headers.remove(header::SET_COOKIE);
}

/// The headers of a request on its way out.
pub(super) fn outgoing_headers(received: &Received, surface: Surface, has_keys: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if surface != received.surface() {
        // Of another interface's headers only the name of the client and its trace mean something.
        for name in [header::USER_AGENT, TRACE_PARENT, TRACE_STATE] {
            if let Some(value) = received.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
    } else {
        headers.clone_from(&received.headers);
        passed_on(&mut headers);
        for name in [
            header::HOST,
            header::CONTENT_LENGTH,
            header::ACCEPT_ENCODING,
            header::EXPECT,
            header::COOKIE,
            header::FORWARDED,
            HeaderName::from_static("x-forwarded-for"),
            HeaderName::from_static("x-stave-session"),
        ] {
            headers.remove(name);
        }
        // A key of ours means nothing to anybody else, and must not reach them.
        if has_keys {
            CREDENTIALS.iter().for_each(|name| {
                headers.remove(name);
            });
        }
    }
    headers
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    media_type.len() >= 17 && media_type[..17].eq_ignore_ascii_case(b"text/event-stream")
}

/// Whether a reply is compressed, though nobody asked for it.
pub(super) fn is_packed(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.any(|encoding| !encoding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}
