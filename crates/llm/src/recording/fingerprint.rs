//! What makes two requests the same question.

use stave_canon::{Layout, Object};

use crate::{Part, PartKind, Request, Tool};

/// Provider fields that steer bookkeeping, routing and caching, and never the answer.
const VOLATILE: &[&str] = &[
    "cache_control",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "stream_options",
    "user",
];

/// The SHA-256 of the request's canonical JSON (RFC 8785), as hexadecimal digits, over [`stable_request`].
#[must_use]
pub fn request_hash(request: &Request) -> String {
    stave_canon::sha256_of(&stable_request(request).to_value(), &Layout::RFC8785)
}

/// The request without what does not change the answer: the stream flag, metadata, cache marks and the
/// provider fields for bookkeeping.
#[must_use]
pub fn stable_request(request: &Request) -> Request {
    let mut stable = request.clone();
    stable.stream = false;
    stable.metadata.clear();
    strip(&mut stable.extra);
    for message in &mut stable.messages {
        strip(&mut message.extra);
        message.content.iter_mut().for_each(strip_part);
    }
    for tool in &mut stable.tools {
        if let Tool::Function(function) = tool {
            function.cache = None;
            strip(&mut function.extra);
        }
    }
    stable
}

fn strip_part(part: &mut Part) {
    part.cache = None;
    strip(&mut part.extra);
    if let PartKind::ToolResult(result) = &mut part.kind {
        result.content.iter_mut().for_each(strip_part);
    }
}

fn strip(extra: &mut Object) {
    extra.retain(|key, _| !VOLATILE.contains(&key.as_str()));
}
