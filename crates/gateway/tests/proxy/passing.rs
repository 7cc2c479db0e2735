//! Bytes pass as they came, in both directions, while tokens are counted on the side.

use std::time::Duration;

use stave_llm::Provider;

use crate::scene::{CHAT, CHAT_REPLY, MESSAGES, MESSAGES_REPLY, Scene, config};
use crate::upstream::{Step, Upstream, events, whole};

#[tokio::test]
async fn a_small_request_and_its_reply_pass_byte_for_byte() {
    let odd = MESSAGES_REPLY.replace("\"type\":\"message\"", "\"type\" :\t\"message\" ,\"é\":[1.0,1e2,{}]");
    let upstream = Upstream::always(whole(200, "request-id: abc\r\nx-odd: 1\r\n", &odd)).await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    let sent = r#" {"max_tokens" : 16,  "model":"claude-x","messages":[ {"role":"user","content":"hé\u00e9"}],"zeta":1,"alpha":2} "#;
    let mut client = scene.client().await;
    let headers = "anthropic-version: 2023-06-01\r\nanthropic-beta: a,b\r\nx-api-key: mine\r\naccept-encoding: gzip\r\n";
    let answer = client.post("/v1/messages?beta=true", headers, sent).await;
    assert_eq!((answer.status, answer.text()), (200, odd));
    assert_eq!((answer.header("request-id"), answer.header("x-odd")), (Some("abc"), Some("1")));
    assert_eq!(answer.header("x-stave-upstream"), Some("one"));
    assert!(answer.header("x-stave-request-id").is_some());
    let calls = upstream.calls();
    assert_eq!(calls[0].body, sent);
    let head = &calls[0].head;
    assert!(head.starts_with("post /v1/messages?beta=true http/1.1"), "{head}");
    assert!(head.contains("anthropic-beta: a,b") && head.contains("x-api-key: mine"), "{head}");
    assert!(!head.contains("accept-encoding"), "{head}");
    // A second request goes over the same connections.
    assert_eq!(client.post("/v1/messages", "", MESSAGES).await.status, 200);
    assert_eq!(upstream.connections(), 1);
    let records = scene.records_of(2).await;
    assert_eq!((records[0].status, records[0].outcome.as_str()), (200, "answered"));
    assert_eq!((records[0].input, records[0].output), (7, 3));
    assert_eq!(records[0].not_planned.as_deref(), Some("too_short"));
}

#[tokio::test]
async fn a_stream_passes_with_its_comments_ids_blank_lines_and_cuts() {
    let text = concat!(
        ": hello\n\n\n\n",
        "id: 7\nretry: 10\nevent: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\r\n\r\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"é中😀\"}}\n\n",
        "data:{\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":12}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n: bye"
    );
    for step in [1, 7, 60, 10_000] {
        let pieces: Vec<Vec<u8>> = text.as_bytes().chunks(step).map(<[u8]>::to_vec).collect();
        let upstream = Upstream::start(move |_, _| {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let mut steps = events(&pieces);
            steps.retain(|step| matches!(step, Step::Write(_)));
            steps
        })
        .await;
        let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
        let answer = scene.post("/v1/messages", MESSAGES).await;
        assert!(answer.is_whole, "{step}");
        assert_eq!(answer.body, text.as_bytes(), "{step}");
        assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
        let record = &scene.records_of(1).await[0];
        assert_eq!((record.input, record.cache_read, record.output), (13, 4, 12), "{step}");
        assert_eq!(record.outcome, "answered");
    }
}

#[tokio::test]
async fn the_first_event_is_there_before_the_last_is_written() {
    let upstream = Upstream::start(|_, _| {
        let mut steps = events(&[b"data: first\n\n"]);
        steps.pop();
        steps.push(Step::Wait(Duration::from_secs(30)));
        steps
    })
    .await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let mut client = scene.client().await;
    client.send(crate::client::request("/v1/chat/completions", "", CHAT).as_bytes()).await;
    client.read_until("data: first").await;
    drop(client);
    // The client that went away takes the upstream's request with it.
    for _ in 0..200 {
        if upstream.broken_off() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(upstream.broken_off(), 1);
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.status, record.outcome.as_str()), (200, "cancelled"));
}

#[tokio::test]
async fn a_client_that_goes_away_before_the_answer_cancels_it() {
    let upstream = Upstream::always(vec![Step::Wait(Duration::from_secs(30))]).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let mut client = scene.client().await;
    client.send(crate::client::request("/v1/chat/completions", "", CHAT).as_bytes()).await;
    while upstream.calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(client);
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.status, record.outcome.as_str(), record.attempts), (499, "cancelled", 1));
    for _ in 0..200 {
        if upstream.broken_off() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the upstream was not told");
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_broken_off_for_the_client_too() {
    let half = {
        let mut steps = events(&[b"data: {\"choices\":[]}\n\n"]);
        steps.pop();
        steps.push(Step::Close);
        steps
    };
    let upstream = Upstream::always(half).await;
    let scene = Scene::new(config(&upstream, Provider::OpenAi)).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.is_whole), (200, false));
    assert_eq!(answer.text(), "data: {\"choices\":[]}\n\n");
    assert_eq!(scene.records_of(1).await[0].outcome, "failed");
    let garbage = Upstream::always(vec![Step::Write(b"\x00\x01garbage\r\n\r\n".to_vec()), Step::Close]).await;
    let scene = Scene::new(config(&garbage, Provider::OpenAi)).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.at("/error/code").as_str()), (502, "upstream_unreachable"));
}

#[tokio::test]
async fn an_idle_stream_is_ended() {
    let upstream = Upstream::start(|_, _| {
        let mut steps = events(&[b"data: {\"choices\":[]}\n\n"]);
        steps.pop();
        steps.push(Step::Wait(Duration::from_secs(30)));
        steps
    })
    .await;
    let mut config = config(&upstream, Provider::OpenAi);
    config.timeouts.idle = Duration::from_millis(100);
    let scene = Scene::new(config).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.is_whole), (200, false));
    assert_eq!(scene.records_of(1).await[0].outcome, "failed");
}

#[tokio::test]
async fn an_upstreams_error_passes_in_its_own_words_and_without_its_key() {
    let error = r#"{"error":{"message":"Incorrect API key provided: sk-very-secret-0123456789","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#;
    let upstream = Upstream::always(whole(401, "x-request-id: r\r\n", error)).await;
    let mut config = config(&upstream, Provider::OpenAi);
    config.upstreams[0].key = Some(stave_llm::Secret::new("sk-very-secret-0123456789"));
    let scene = Scene::new(config).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.text(), error.replace("sk-very-secret-0123456789", "[secret]"));
    assert_eq!(answer.header("x-request-id"), Some("r"));
    assert!(upstream.calls()[0].head.contains("authorization: bearer sk-very-secret"));
}

#[tokio::test]
async fn models_health_and_metrics_are_answered_here() {
    let upstream = Upstream::always(whole(200, "", CHAT_REPLY)).await;
    let mut config = config(&upstream, Provider::OpenAi);
    config.upstreams[0].models = vec!["gpt-x".to_owned(), "o*".to_owned()];
    let scene = Scene::new(config).await;
    assert_eq!(scene.get("/v1/models", "").await.at("/data/0/id"), "gpt-x");
    let anthropic = scene.get("/v1/models", "anthropic-version: 2023-06-01\r\n").await;
    assert_eq!((anthropic.at("/data/0/type"), anthropic.at("/first_id")), ("model".into(), "gpt-x".into()));
    assert_eq!(scene.get("/v1/models/gpt-x", "").await.at("/object"), "model");
    assert_eq!(scene.get("/v1/models/none", "").await.status, 404);
    assert_eq!((scene.get("/healthz", "").await.status, scene.get("/readyz", "").await.status), (200, 200));
    assert_eq!(scene.post("/v1/chat/completions", CHAT).await.status, 200);
    scene.records_of(1).await;
    let metrics = scene.get("/metrics", "").await.text();
    for line in [
        "stave_gateway_requests_total{path=\"/v1/chat/completions\",status=\"200\",outcome=\"answered\"} 1\n",
        "stave_gateway_tokens_total{kind=\"input\"} 7\n",
        "stave_gateway_attempts_total{upstream=\"one\",outcome=\"answered\"} 1\n",
        "stave_gateway_requests_in_progress 0\n",
        "stave_gateway_idle_connections{upstream=\"one\"} 1\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    let unknown = scene.post("/v1/chat/completions", &CHAT.replace("gpt-x", "llama")).await;
    assert_eq!((unknown.status, unknown.at("/error/code").as_str()), (404, "model_not_found"));
    let nothing = scene.get("/v1/nothing", "").await;
    assert_eq!(nothing.status, 404);
    assert_eq!(scene.get("/v1/messages", "").await.header("allow"), Some("post"));
}
