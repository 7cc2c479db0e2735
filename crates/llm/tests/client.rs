//! The client against a real server on the loopback interface.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stave_canon::FixedClock;
use stave_llm::{
    Attempt, CallObserver, CallOptions, Client, ClientOptions, Error, ErrorKind, Message, Phase, Provider,
    Reply, Request, RetryPolicy, Secret, StopReason, StreamEvent, Target, Timeouts, Transport, Usage,
};

use crate::loopback::{Act, Provider as Scripted};

const WHOLE: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1767225600,"model":"gpt-4o-mini",
    "choices":[{"index":0,"message":{"role":"assistant","content":"Hello there"},"finish_reason":"stop","logprobs":null}],
    "usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}"#;

const EVENTS: &str = "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n\
    : a comment\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüße \"},\"finish_reason\":null}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"日本\"},\"finish_reason\":null}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n";

fn client() -> Client {
    client_with(&ClientOptions::default())
}

fn client_with(options: &ClientOptions) -> Client {
    let clock = Arc::new(FixedClock("2026-01-01T00:00:00Z".parse().unwrap()));
    Client::new(options, clock).unwrap()
}

fn target(provider: &Scripted) -> Target {
    Target::new(Provider::OpenAi, "gpt-4o-mini").with_endpoint(format!("{}/v1", provider.address))
}

fn request() -> Request {
    Request::new("", vec![Message::system("Be brief."), Message::user("Hi")])
}

fn patient(retries: u32) -> CallOptions {
    let retry = RetryPolicy { retries, backoff: Duration::from_millis(1), ..RetryPolicy::default() };
    CallOptions { retry, ..CallOptions::default() }
}

async fn send(
    script: Vec<Act>,
    request: &Request,
    options: &CallOptions,
) -> (Result<Reply, Error>, Scripted) {
    let provider = Scripted::start(script).await;
    let outcome = client().send(request, &target(&provider), options, &()).await;
    (outcome, provider)
}

/// Collects events, and lets a call start over only when a test asks for it.
#[derive(Default)]
struct Watcher {
    events: Mutex<Vec<StreamEvent>>,
    retries: Mutex<Vec<Attempt>>,
    stop_after: Option<usize>,
}

impl CallObserver for Watcher {
    fn event(&self, event: &StreamEvent) -> ControlFlow<()> {
        let mut events = self.events.lock().unwrap();
        events.push(event.clone());
        if self.stop_after.is_some_and(|count| events.len() >= count) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn retry(&self, attempt: &Attempt) {
        self.retries.lock().unwrap().push(attempt.clone());
    }
}

#[tokio::test]
async fn a_whole_reply_is_read_and_the_targets_model_is_asked() {
    let (outcome, provider) = send(vec![Act::ok(WHOLE)], &request(), &CallOptions::default()).await;
    let reply = outcome.unwrap();
    assert_eq!(reply.response.text(), "Hello there");
    assert_eq!(reply.response.stop, Some(StopReason::End));
    assert_eq!(reply.response.usage, Some(Usage { input: 9, output: 2, ..Usage::default() }));
    assert_eq!(reply.attempts, [Attempt { error: None, wait: None }]);
    let received = provider.received();
    assert_eq!(received[0].path, "/v1/chat/completions");
    assert_eq!(received[0].header("authorization"), None);
    let body = stave_canon::parse(&received[0].body).unwrap();
    assert_eq!(body.get("model").and_then(|model| model.as_str()), Some("gpt-4o-mini"));
}

#[tokio::test]
async fn the_key_travels_in_the_providers_own_header_and_never_in_an_error() {
    for (kind, header, value) in [
        (Provider::OpenAi, "authorization", "Bearer sk-hush"),
        (Provider::Anthropic, "x-api-key", "sk-hush"),
        (Provider::Azure, "api-key", "sk-hush"),
    ] {
        let body = r#"{"error":{"message":"Incorrect API key provided: sk-hush","code":"invalid_api_key"}}"#;
        let act = Act::Answer { status: 401, headers: Vec::new(), body: body.to_owned() };
        let provider = Scripted::start(vec![act]).await;
        let target = Target::new(kind, "m").with_endpoint(&provider.address).with_key(Secret::new("sk-hush"));
        let error = client().send(&request(), &target, &patient(3), &()).await.unwrap_err();
        assert_eq!(provider.received().len(), 1, "401 is not tried again");
        assert_eq!(provider.received()[0].header(header), Some(value));
        assert_eq!(error.to_string(), "the provider answered 401: Incorrect API key provided: [secret]");
        assert!(!format!("{error:?} {target:?}").contains("sk-hush"));
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    let provider =
        Scripted::start(vec![Act::ok(WHOLE), Act::events(EVENTS), Act::status(500), Act::ok(WHOLE)]).await;
    let client = client();
    let streaming = Request { stream: true, ..request() };
    for request in [&request(), &streaming, &request()] {
        client.send(request, &target(&provider), &patient(1), &()).await.unwrap();
    }
    assert_eq!(provider.received().len(), 4);
    assert_eq!(*provider.log.connections.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_stream_is_shown_as_it_comes_and_folds_into_the_reply() {
    let provider = Scripted::start(vec![Act::events(EVENTS)]).await;
    let watcher = Watcher::default();
    let request = Request { stream: true, ..request() };
    let reply = client().send(&request, &target(&provider), &patient(0), &watcher).await.unwrap();
    assert_eq!(reply.response.text(), "Grüße 日本");
    let calls: Vec<_> = reply.response.tool_calls().map(|call| (&*call.name, &*call.arguments)).collect();
    assert_eq!(calls, [("f", "{\"a\":1}")]);
    assert_eq!(reply.response.usage, Some(Usage { input: 3, output: 4, ..Usage::default() }));
    assert_eq!(reply.response.stop, Some(StopReason::ToolUse));
    let events = watcher.events.lock().unwrap();
    assert_eq!(events.len(), 7, "{events:?}");
    assert!(provider.received()[0].body.contains("\"stream_options\":{\"include_usage\":true}"));
}

#[tokio::test]
async fn a_server_that_ignores_the_stream_flag_is_understood_both_ways() {
    let watcher = Watcher::default();
    let provider = Scripted::start(vec![Act::ok(WHOLE), Act::events(EVENTS)]).await;
    let request = Request { stream: true, ..request() };
    let reply = client().send(&request, &target(&provider), &patient(0), &watcher).await.unwrap();
    assert_eq!(reply.response.text(), "Hello there");
    assert!(watcher.events.lock().unwrap().iter().any(StreamEvent::is_output));
    let request = Request { stream: false, ..request };
    let reply = client().send(&request, &target(&provider), &patient(0), &()).await.unwrap();
    assert_eq!(reply.response.text(), "Grüße 日本");
}

#[tokio::test]
async fn busy_with_a_wish_of_zero_and_a_server_fault_are_tried_again() {
    let busy =
        Act::Answer { status: 429, headers: vec![("Retry-After", "0".to_owned())], body: String::new() };
    let provider = Scripted::start(vec![busy, Act::status(500), Act::ok(WHOLE)]).await;
    let watcher = Watcher::default();
    let reply = client().send(&request(), &target(&provider), &patient(2), &watcher).await.unwrap();
    let statuses: Vec<_> = reply
        .attempts
        .iter()
        .map(|attempt| match &attempt.error {
            Some(ErrorKind::Status { status, .. }) => *status,
            _ => 200,
        })
        .collect();
    assert_eq!(statuses, [429, 500, 200]);
    assert_eq!(reply.attempts[0].wait, Some(Duration::ZERO));
    assert!(reply.attempts[1].wait.is_some_and(|wait| wait <= Duration::from_millis(2)));
    assert_eq!(reply.attempts[2].wait, None);
    assert_eq!(*watcher.retries.lock().unwrap(), reply.attempts[..2]);
}

#[tokio::test]
async fn what_can_not_pass_is_not_tried_again() {
    for status in [400, 401, 403, 404, 422, 301] {
        let (outcome, provider) =
            send(vec![Act::status(status), Act::ok(WHOLE)], &request(), &patient(5)).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Status { status: got, .. } if got == status), "{error:?}");
        assert!(!error.is_retryable());
        assert_eq!((provider.received().len(), error.attempts.len()), (1, 1));
    }
}

#[tokio::test]
async fn retries_end_and_the_error_knows_every_attempt() {
    let script = vec![Act::status(408), Act::status(409), Act::status(425), Act::status(503)];
    let (outcome, _provider) = send(script, &request(), &patient(3)).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.to_string(), "the provider answered 503: scripted 503");
    assert_eq!(error.attempts.len(), 4);
    assert_eq!(error.attempts[3].wait, None);
}

#[tokio::test]
async fn a_wish_beyond_patience_fails_at_once() {
    let busy =
        Act::Answer { status: 429, headers: vec![("Retry-After", "3600".to_owned())], body: String::new() };
    let (outcome, provider) = send(vec![busy, Act::ok(WHOLE)], &request(), &patient(5)).await;
    let error = outcome.unwrap_err();
    let wish = Some(Duration::from_secs(3600));
    assert!(matches!(error.kind, ErrorKind::Status { retry_after, .. } if retry_after == wish));
    assert_eq!(provider.received().len(), 1);
}

#[tokio::test]
async fn a_timeout_closes_the_connection() {
    for (act, phase) in [(Act::Hang, Phase::FirstByte), (Act::HangAfterHead, Phase::Attempt)] {
        let provider = Scripted::start(vec![act]).await;
        let timeouts =
            Timeouts { first_byte: Duration::from_millis(200), attempt: Duration::from_millis(400) };
        let options = CallOptions { timeouts, ..patient(0) };
        let request = Request { stream: true, ..request() };
        let error = client().send(&request, &target(&provider), &options, &()).await.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Timeout { phase: got, .. } if got == phase), "{error:?}");
        assert!(error.is_retryable() && error.is_timeout());
        let abandoned = tokio::time::timeout(Duration::from_secs(10), provider.log.abandoned.notified());
        abandoned.await.expect("the server sees the connection close");
    }
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    let provider = Scripted::start(vec![Act::Hang]).await;
    let target = target(&provider);
    let client = client();
    let (request, options) = (request(), patient(5));
    let call = client.send(&request, &target, &options, &());
    assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
    let abandoned = tokio::time::timeout(Duration::from_secs(10), provider.log.abandoned.notified());
    abandoned.await.expect("the server sees the connection close");
    assert_eq!(provider.received().len(), 1);
}

#[tokio::test]
async fn an_observer_can_cancel() {
    let provider = Scripted::start(vec![Act::events(EVENTS)]).await;
    let watcher = Watcher { stop_after: Some(2), ..Watcher::default() };
    let request = Request { stream: true, ..request() };
    let error = client().send(&request, &target(&provider), &patient(5), &watcher).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert_eq!(watcher.events.lock().unwrap().len(), 2);
    assert_eq!(provider.received().len(), 1);
}

#[tokio::test]
async fn a_reply_past_the_bound_is_refused_whole_or_streamed() {
    let large = WHOLE.replace("Hello there", &"x".repeat(10_000));
    let events = EVENTS.replace("Grüße ", &"x".repeat(10_000));
    let options = ClientOptions { max_body: 5_000, ..ClientOptions::default() };
    let chunked = Act::Chunks {
        content_type: "application/json",
        chunks: large.as_bytes().chunks(1000).map(<[u8]>::to_vec).collect(),
        pause: Duration::ZERO,
    };
    for act in [Act::ok(&large), chunked, Act::events(&events)] {
        let provider = Scripted::start(vec![act]).await;
        let request = Request { stream: true, ..request() };
        let error =
            client_with(&options).send(&request, &target(&provider), &patient(5), &()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::TooLarge { limit: 5_000 });
        assert_eq!(provider.received().len(), 1, "a reply that is too large will be too large again");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_tried_again_unless_someone_has_seen_it() {
    let half = &EVENTS[..EVENTS.len() / 2];
    let torn = |text: &str| Act::CutOff { content_type: "text/event-stream", body: text.as_bytes().to_vec() };
    let request = Request { stream: true, ..request() };

    // Nobody watches: the second try answers.
    for act in [torn(half), Act::events(half)] {
        let (outcome, _provider) = send(vec![act, Act::events(EVENTS)], &request, &patient(1)).await;
        let reply = outcome.unwrap();
        assert_eq!((reply.attempts.len(), reply.response.text().as_str()), (2, "Grüße 日本"));
    }
    // A watcher that cannot take back what it showed gets the error.
    let provider = Scripted::start(vec![torn(half), Act::events(EVENTS)]).await;
    let error =
        client().send(&request, &target(&provider), &patient(1), &Watcher::default()).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Transport(_)), "{error:?}");
    assert_eq!(provider.received().len(), 1);
    // Nothing was shown yet, so the same watcher may see a second try.
    let provider = Scripted::start(vec![torn(": hello\n\n"), Act::events(EVENTS)]).await;
    let reply = client().send(&request, &target(&provider), &patient(1), &Watcher::default()).await.unwrap();
    assert_eq!(reply.attempts.len(), 2);
}

#[tokio::test]
async fn the_last_event_counts_although_nothing_ends_it() {
    let open = EVENTS.trim_end().strip_suffix("data: [DONE]").unwrap().trim_end();
    let request = Request { stream: true, ..request() };
    let (outcome, _provider) = send(vec![Act::events(open)], &request, &patient(0)).await;
    let reply = outcome.unwrap();
    assert_eq!(reply.response.usage, Some(Usage { input: 3, output: 4, ..Usage::default() }));
}

#[tokio::test]
async fn malformed_replies_are_decode_errors_and_not_tried_again() {
    for body in ["{", "[]", "{}", "null", "\u{0}", r#"{"choices":[]}"#, r#"{"choices":[{"message":7}]}"#] {
        let (outcome, provider) = send(vec![Act::ok(body), Act::ok(WHOLE)], &request(), &patient(3)).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Decode(_)), "{body}: {error:?}");
        assert_eq!(provider.received().len(), 1);
    }
}

#[tokio::test]
async fn an_error_inside_a_reply_is_the_providers_error() {
    let whole = r#"{"error":{"message":"no capacity","code":503}}"#;
    let events = "data: {\"error\":{\"message\":\"no capacity\",\"code\":503}}\n\n";
    for (act, stream) in [(Act::ok(whole), false), (Act::events(events), true)] {
        let request = Request { stream, ..request() };
        let (outcome, _provider) = send(vec![act], &request, &patient(0)).await;
        assert_eq!(outcome.unwrap_err().to_string(), "the provider answered 503: no capacity");
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_transport_error_without_the_query() {
    let provider = Scripted::start(Vec::new()).await;
    let address = provider.address.clone();
    drop(provider);
    let target = Target::new(Provider::OpenAi, "m").with_endpoint(format!("{address}/v1?token=hush"));
    let error = client().send(&request(), &target, &patient(1), &()).await.unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Transport(_)), "{error:?}");
    assert_eq!(error.attempts.len(), 2);
    assert!(!format!("{error} {error:?}").contains("hush"));
}

#[tokio::test]
async fn a_proxy_gets_the_whole_address() {
    let provider = Scripted::start(vec![Act::ok(WHOLE)]).await;
    let options = ClientOptions { proxy: Some(provider.address.clone()), ..ClientOptions::default() };
    let target = Target::new(Provider::OpenAi, "m").with_endpoint("http://models.invalid/v1");
    client_with(&options).send(&request(), &target, &patient(0), &()).await.unwrap();
    assert_eq!(provider.received()[0].path, "http://models.invalid/v1/chat/completions");
}

#[tokio::test]
async fn a_target_that_can_not_be_called_fails_before_anything_is_sent() {
    for (target, says) in [
        (Target::new(Provider::Bedrock, "m"), "bedrock has no client"),
        (Target::new(Provider::OpenAi, "m"), "provider openai needs an API key"),
        (
            Target::new(Provider::OpenAi, "m").with_key(Secret::new("line\nbreak")),
            "characters that no header",
        ),
    ] {
        let error = client().send(&request(), &target, &patient(3), &()).await.unwrap_err();
        assert!(matches!(&error.kind, ErrorKind::Target(message) if message.contains(says)), "{error:?}");
        assert!(error.attempts.is_empty() && !error.is_retryable());
    }
}

#[tokio::test]
async fn other_wires_work_from_end_to_end() {
    let anthropic = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude\",\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n\
        event: ping\ndata: {\"type\":\"ping\"}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hallo\"}}\n\n\
        event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let responses = "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"model\":\"m\",\"output\":[]}}\n\n\
        data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hallo\"}\n\n\
        data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":12,\"output_tokens\":3,\"input_tokens_details\":{\"cached_tokens\":7}}}}\n\n";
    let ollama = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hal\"},\"done\":false}\n\
        {\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"lo\"},\"done\":false}\n\
        {\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":12,\"eval_count\":3}";
    for (kind, path, text, cached) in [
        (Provider::Anthropic, "/v1/messages", anthropic, 7),
        (Provider::OpenAiResponses, "/v1/responses", responses, 7),
        (Provider::Ollama, "/api/chat", ollama, 0),
    ] {
        let provider = Scripted::start(vec![Act::events(text)]).await;
        let target = Target::new(kind, "m").with_endpoint(&provider.address);
        let request = Request { stream: true, ..request() };
        let reply = client().send(&request, &target, &patient(0), &()).await.unwrap();
        assert_eq!(provider.received()[0].path, path);
        assert_eq!(reply.response.text(), "Hallo", "{kind:?}");
        assert_eq!(reply.response.stop, Some(StopReason::End), "{kind:?}");
        let usage = Usage { input: 12, output: 3, cache_read: cached, ..Usage::default() };
        assert_eq!(reply.response.usage, Some(usage), "{kind:?}");
    }
}
