//! The paths that clients know, and the words in which they expect answers.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use stave_block::Surface;
use stave_canon::Value;
use stave_llm::codec::{AnswerCodec, AnswerFault, AnthropicMessages, OpenAiChat, OpenAiResponses};
use stave_llm::provider_headers::ANTHROPIC_VERSION;

use super::reply::{Reply, ReplyBody};

/// A path that the gateway answers on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Ask(Endpoint),
    Models,
    Model(String),
    Live,
    Ready,
    Metrics,
    Stats,
}

/// A path on which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    ChatCompletions,
    Responses,
    Messages,
    CountTokens,
}

/// Why a client gets no answer from a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    /// Whether the connection ends with the answer, because what follows on it cannot be told apart.
    pub(crate) ends_connection: bool,
}

impl Route {
    /// The route of a path. The version may be left out, as some clients have it in their base address and
    /// some do not.
    pub(crate) fn of(path: &str) -> Option<Route> {
        Some(match path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path) {
            "/chat/completions" => Route::Ask(Endpoint::ChatCompletions),
            "/responses" => Route::Ask(Endpoint::Responses),
            "/messages" => Route::Ask(Endpoint::Messages),
            "/messages/count_tokens" => Route::Ask(Endpoint::CountTokens),
            "/models" => Route::Models,
            "/healthz" => Route::Live,
            "/readyz" => Route::Ready,
            "/metrics" => Route::Metrics,
            "/stats" => Route::Stats,
            other => Route::Model(other.strip_prefix("/models/").filter(|name| !name.is_empty())?.to_owned()),
        })
    }

    pub(crate) fn takes(&self, method: &Method) -> bool {
        match self {
            Route::Ask(_) => method == Method::POST,
            _ => method == Method::GET || method == Method::HEAD,
        }
    }

    pub(crate) fn allow(&self) -> HeaderValue {
        HeaderValue::from_static(if matches!(self, Route::Ask(_)) { "POST" } else { "GET, HEAD" })
    }

    /// A name for metrics, from a closed set.
    pub(crate) fn template(&self) -> &'static str {
        match self {
            Route::Ask(endpoint) => endpoint.path(),
            Route::Models => "/v1/models",
            Route::Model(_) => "/v1/models/{name}",
            Route::Live => "/healthz",
            Route::Ready => "/readyz",
            Route::Metrics => "/metrics",
            Route::Stats => "/stats",
        }
    }

    /// The interface in whose form errors on this path are written.
    pub(crate) fn surface(&self, headers: &HeaderMap) -> Surface {
        match self {
            Route::Ask(endpoint) => endpoint.surface(),
            _ if is_anthropic(headers) => Surface::AnthropicMessages,
            _ => Surface::OpenAiChat,
        }
    }
}

impl Endpoint {
    pub(crate) fn surface(self) -> Surface {
        match self {
            Endpoint::ChatCompletions => Surface::OpenAiChat,
            Endpoint::Responses => Surface::OpenAiResponses,
            Endpoint::Messages | Endpoint::CountTokens => Surface::AnthropicMessages,
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Endpoint::ChatCompletions => "/v1/chat/completions",
            Endpoint::Responses => "/v1/responses",
            Endpoint::Messages => "/v1/messages",
            Endpoint::CountTokens => "/v1/messages/count_tokens",
        }
    }
}

/// Whether a client of the paths that both providers have speaks as Anthropic's do.
pub(crate) fn is_anthropic(headers: &HeaderMap) -> bool {
    headers.contains_key(ANTHROPIC_VERSION)
}

/// The codec of an interface. Clients of Gemini's do not come here.
pub(crate) fn codec(surface: Surface) -> &'static dyn AnswerCodec {
    match surface {
        Surface::OpenAiChat | Surface::GeminiGenerateContent => &OpenAiChat,
        Surface::OpenAiResponses => &OpenAiResponses,
        Surface::AnthropicMessages => &AnthropicMessages,
    }
}

impl Fault {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Fault { status, code, message: message.into(), retry_after: None, ends_connection: false }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Fault::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    pub(crate) fn and_close(mut self) -> Self {
        self.ends_connection = true;
        self
    }

    pub(crate) fn after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    pub(crate) fn answer(&self) -> AnswerFault {
        AnswerFault {
            status: self.status.as_u16(),
            message: self.message.clone(),
            code: Some(self.code.to_owned()),
        }
    }

    /// The answer in the client's own words.
    pub(crate) fn into_reply(self, surface: Surface) -> Reply {
        let body = codec(surface).encode_error(&self.answer());
        let mut reply = json(self.status, &body);
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.ends_connection {
            reply.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        reply
    }
}

pub(crate) fn json(status: StatusCode, value: &Value) -> Reply {
    whole(status, HeaderValue::from_static("application/json"), value.to_string())
}

/// A reply that is whole.
pub(crate) fn whole(status: StatusCode, media_type: HeaderValue, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(ReplyBody::whole(text.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, media_type);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_with_and_without_their_version() {
        assert_eq!(Route::of("/v1/messages"), Some(Route::Ask(Endpoint::Messages)));
        assert_eq!(Route::of("/responses"), Some(Route::Ask(Endpoint::Responses)));
        assert_eq!(Route::of("/v1/models/a/b"), Some(Route::Model("a/b".to_owned())));
        assert_eq!(Route::of("/healthz"), Some(Route::Live));
        for nothing in ["/", "/v1", "/v1messages", "/v2/messages", "/v1/models/", "/v1/messages/"] {
            assert_eq!(Route::of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn an_error_is_told_in_the_words_of_the_interface() {
        let fault = Fault::new(StatusCode::TOO_MANY_REQUESTS, "token_rate", "slow down");
        let said = |surface| codec(surface).encode_error(&fault.answer()).to_string();
        assert_eq!(
            said(Surface::AnthropicMessages),
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#
        );
        assert_eq!(
            said(Surface::OpenAiChat),
            r#"{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"token_rate"}}"#
        );
    }
}
