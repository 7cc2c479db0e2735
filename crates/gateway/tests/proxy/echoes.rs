//! An upstream that repeats the gateway's own key, in every interface and however its reply is cut.

use stave_gateway::GatewayConfig;
use stave_llm::{Provider, Secret};

use crate::scene::{CHAT, CHAT_STREAM, Scene, config};
use crate::upstream::{Upstream, events, whole};

const KEY: &str = "sk-upstream-1234";

const MESSAGES_STREAM: &str =
    r#"{"model":"claude-x","max_tokens":16,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
const RESPONSES_STREAM: &str = r#"{"model":"gpt-x","stream":true,"input":"hi"}"#;

fn with_key(upstream: &Upstream, provider: Provider) -> GatewayConfig {
    let mut config = config(upstream, provider);
    config.upstreams[0].key = Some(Secret::new(KEY));
    config
}

/// The key in pieces, as each interface streams text.
fn stream_of(interface: &str, pieces: &[&str]) -> String {
    let text: String = pieces
        .iter()
        .map(|piece| match interface {
            "chat" => format!("data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-x\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{piece}\"}},\"finish_reason\":null}}]}}\n\n"),
            "messages" => format!("event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{piece}\"}}}}\n\n"),
            _ => format!("event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"{piece}\"}}\n\n"),
        })
        .collect();
    match interface {
        "chat" => format!(
            "{text}data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-x\",\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
        ),
        "messages" => format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-x\",\"content\":[],\"usage\":{{\"input_tokens\":5,\"output_tokens\":1}}}}}}\n\n\
             event: content_block_start\ndata: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n{text}\
             event: content_block_stop\ndata: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
             event: message_delta\ndata: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{{\"output_tokens\":8}}}}\n\n\
             event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
        ),
        _ => format!(
            "{text}event: response.completed\ndata: {{\"type\":\"response.completed\",\"response\":{{\"id\":\"r\",\"status\":\"completed\",\"output\":[],\"usage\":{{\"input_tokens\":4,\"output_tokens\":6}}}}}}\n\n"
        ),
    }
}

/// The texts that a client joins.
fn said(stream: &str) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    let pointers = ["/choices/0/delta/content", "/delta/text", "/delta"];
    data.filter_map(|data| {
        let event = stave_canon::parse(data).expect("each event is JSON");
        pointers.iter().find_map(|pointer| event.pointer(pointer)?.as_str().map(str::to_owned))
    })
    .collect()
}

#[tokio::test]
async fn no_part_of_the_key_passes_in_any_interface() {
    for (interface, provider, path, ask) in [
        ("chat", Provider::OpenAi, "/v1/chat/completions", CHAT_STREAM),
        ("messages", Provider::Anthropic, "/v1/messages", MESSAGES_STREAM),
        ("responses", Provider::OpenAi, "/v1/responses", RESPONSES_STREAM),
    ] {
        for pieces in [&["it is sk-upstream-1234."][..], &["it is sk-up", "stream-", "1234", "."]] {
            for step in [5, 33, 10_000] {
                let stream = stream_of(interface, pieces);
                let upstream =
                    Upstream::start(move |_, _| events(&stream.as_bytes().chunks(step).collect::<Vec<_>>()))
                        .await;
                let scene = Scene::new(with_key(&upstream, provider)).await;
                let answer = scene.post(path, ask).await;
                assert!(answer.is_whole && answer.status == 200, "{}", answer.text());
                assert_eq!(said(&answer.text()), "it is ****************.", "{interface} {step}");
                assert_eq!(scene.records_of(1).await[0].outcome, "answered");
            }
        }
    }
}

#[tokio::test]
async fn a_translated_reply_does_not_repeat_the_key_either() {
    let pieces = ["it is sk-up", "stream-1234", "."];
    let stream = stream_of("messages", &pieces);
    let upstream = Upstream::start(move |_, _| events(&[stream.as_bytes()])).await;
    let scene = Scene::new(with_key(&upstream, Provider::Anthropic)).await;
    let answer = scene.post("/v1/chat/completions", CHAT_STREAM).await;
    assert_eq!(said(&answer.text()), "it is ****************.", "{}", answer.text());
    assert!(answer.text().ends_with("data: [DONE]\n\n"));
    let reply = r#"{"id":"m1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"sk-upstream-1234"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":3}}"#;
    let upstream = Upstream::always(whole(200, "", reply)).await;
    let scene = Scene::new(with_key(&upstream, Provider::Anthropic)).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!(answer.at("/choices/0/message/content"), "****************");
}

#[tokio::test]
async fn what_was_held_back_reaches_the_client_when_the_stream_breaks_off() {
    let stream = stream_of("chat", &["it is sk-up"]);
    let cut = stream.find("\n\n").unwrap() + 2;
    let upstream = Upstream::start(move |_, _| {
        let mut steps = events(&[&stream.as_bytes()[..cut]]);
        steps.pop();
        steps.push(crate::upstream::Step::Close);
        steps
    })
    .await;
    let scene = Scene::new(with_key(&upstream, Provider::OpenAi)).await;
    let answer = scene.post("/v1/chat/completions", CHAT_STREAM).await;
    assert!(!answer.is_whole);
    assert_eq!(said(&answer.text()), "it is sk-up");
}
