//! A request in one provider's words, answered by another.

use stave_canon::Value;
use stave_llm::Provider;

use crate::scene::{CHAT, CHAT_REPLY, MESSAGES, Scene, config};
use crate::upstream::{Upstream, events, whole};

const TOOL_CHAT: &str = r#"{"model":"claude-x","max_tokens":50,"stream":STREAM,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"look","description":"Looks","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}}],"tool_choice":"auto","messages":[{"role":"system","content":"be terse"},{"role":"user","content":[{"type":"text","text":"what"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]},{"role":"assistant","content":null,"tool_calls":[{"id":"t0","type":"function","function":{"name":"look","arguments":"{\"at\":\"a\"}"}}]},{"role":"tool","tool_call_id":"t0","content":"nothing"}]}"#;

#[tokio::test]
async fn chat_completions_are_answered_by_messages_with_tools() {
    let reply = r#"{"id":"m1","type":"message","role":"assistant","model":"claude-real","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"t1","name":"look","input":{"at":"b"}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":9}}"#;
    let upstream = Upstream::always(whole(200, "", reply)).await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    let answer = scene.post("/v1/chat/completions", &TOOL_CHAT.replace("STREAM", "false")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.at("/choices/0/message/content"), "I look");
    assert_eq!(answer.at("/choices/0/message/tool_calls/0/function/arguments"), r#"{"at":"b"}"#);
    assert_eq!(answer.at("/choices/0/finish_reason"), "tool_calls");
    assert_eq!(
        (answer.at("/usage/prompt_tokens"), answer.at("/usage/completion_tokens")),
        ("7".into(), "9".into())
    );
    let call = &upstream.calls()[0];
    assert!(call.head.starts_with("post /v1/messages http/1.1"), "{}", call.head);
    assert!(call.head.contains("anthropic-version: 2023-06-01"), "{}", call.head);
    let sent = stave_canon::parse(&call.body).unwrap();
    let at = |pointer: &str| sent.pointer(pointer).map(Value::to_string).unwrap_or_default();
    assert_eq!(at("/system"), "\"be terse\"");
    assert_eq!(at("/tools/0/input_schema/properties/at/type"), "\"string\"");
    assert_eq!(at("/messages/0/content/1/source/data"), "\"QUJD\"");
    assert_eq!(at("/messages/2/content/0/tool_use_id"), "\"t0\"");
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.input, record.output, record.outcome.as_str()), (7, 9, "answered"));
}

#[tokio::test]
async fn a_stream_of_messages_becomes_a_stream_of_chunks() {
    let text = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"model\":\"claude-real\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hé\"}}\n\n",
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"look\",\"input\":{}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"at\\\":1}\"}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":8}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let upstream = Upstream::start(move |_, _| {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(37).collect();
        events(&pieces)
    })
    .await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    let answer = scene.post("/v1/chat/completions", &TOOL_CHAT.replace("STREAM", "true")).await;
    let text = answer.text();
    assert!(answer.is_whole && text.ends_with("data: [DONE]\n\n"), "{text}");
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let mut folded = stave_llm::Accumulator::new();
    let codec = stave_llm::codec::codec_of(Provider::OpenAi).unwrap();
    let mut decoder = codec.stream_decoder();
    let mut events = Vec::new();
    for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        decoder.decode(data, &mut events).unwrap();
    }
    events.into_iter().for_each(|event| folded.add(event));
    let response = folded.finish();
    assert_eq!(response.text(), "hé");
    assert_eq!(response.tool_calls().next().map(|call| call.arguments.as_str()), Some("{\"at\":1}"));
    assert_eq!(response.usage.map(|usage| (usage.input, usage.output)), Some((5, 8)));
    assert!(text.contains(": ping\n\n"), "{text}");
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.input, record.output, record.outcome.as_str()), (5, 8, "answered"));
}

#[tokio::test]
async fn messages_are_answered_by_chat_completions() {
    let chunks = "data: {\"id\":\"c\",\"model\":\"g\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"he\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
    let upstream = Upstream::start(move |_, call| {
        if call.body.contains("\"stream\":true") {
            events(&[chunks.as_bytes()])
        } else {
            whole(200, "", CHAT_REPLY)
        }
    })
    .await;
    let mut settings = config(&upstream, Provider::OpenAi);
    settings.upstreams[0].interfaces = vec![stave_block::Surface::OpenAiChat];
    let scene = Scene::new(settings).await;
    let answer = scene.post("/v1/messages", MESSAGES).await;
    assert_eq!(
        (answer.at("/content/0/text"), answer.at("/stop_reason")),
        ("hello".into(), "end_turn".into())
    );
    assert_eq!(answer.at("/usage/input_tokens"), "7");
    let streamed = scene.post("/v1/messages", &MESSAGES.replacen('{', "{\"stream\":true,", 1)).await;
    let text = streamed.text();
    assert!(text.starts_with("event: message_start\n") && text.contains("event: message_stop\n"), "{text}");
    assert!(text.contains("\"text\":\"he\"") && text.contains("\"output_tokens\":2"), "{text}");
    let sent = upstream.calls()[1].body.clone();
    assert!(sent.contains("\"include_usage\":true"), "{sent}");
    // Responses are answered by chat completions as well.
    let responses = scene.post("/v1/responses", r#"{"model":"gpt-x","input":"hi"}"#).await;
    assert_eq!(responses.at("/output/0/content/0/text"), "hello");
    let counted = scene.post("/v1/messages/count_tokens", MESSAGES).await;
    assert!(counted.at("/input_tokens").parse::<u64>().unwrap() > 5);
    assert_eq!(upstream.calls().len(), 3, "tokens were counted here");
}

const RESPONSES: &str = r#"{"model":"some-x","stream":STREAM,"instructions":"be terse","max_output_tokens":50,"store":false,"tools":[{"type":"function","name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"}}},"strict":false}],"tool_choice":"auto","input":[{"role":"user","content":[{"type":"input_text","text":"what"},{"type":"input_image","image_url":"data:image/png;base64,QUJD","detail":"auto"}]},{"type":"function_call","call_id":"t0","name":"look","arguments":"{\"at\":\"a\"}"},{"type":"function_call_output","call_id":"t0","output":"nothing"}]}"#;

/// The result of a stream of the responses interface, read by its own decoder; every item that was begun is
/// finished in its place.
fn folded(text: &str) -> stave_llm::Response {
    let codec = stave_llm::codec::codec_of(Provider::OpenAiResponses).unwrap();
    let mut decoder = codec.stream_decoder();
    let (mut events, mut begun, mut done) = (Vec::new(), Vec::new(), Vec::new());
    for (number, data) in text.lines().filter_map(|line| line.strip_prefix("data: ")).enumerate() {
        decoder.decode(data, &mut events).unwrap();
        let event = stave_canon::parse(data).unwrap();
        assert_eq!(
            event.get("sequence_number").and_then(Value::as_i64),
            i64::try_from(number).ok(),
            "{data}"
        );
        let place = || {
            let at = |pointer: &str| event.pointer(pointer).map(Value::to_string).unwrap_or_default();
            (at("/output_index"), at("/item/id"), at("/item/type"))
        };
        match event.get("type").and_then(Value::as_str) {
            Some("response.output_item.added") => begun.push(place()),
            Some("response.output_item.done") => done.push(place()),
            _ => {}
        }
    }
    assert_eq!(begun, done, "{text}");
    let mut folded = stave_llm::Accumulator::new();
    events.into_iter().for_each(|event| folded.add(event));
    folded.finish()
}

#[tokio::test]
async fn responses_are_answered_by_chat_completions_and_by_messages_streamed_and_with_tools() {
    let chat = concat!(
        "data: {\"id\":\"c\",\"model\":\"real\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"at\\\":1}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hé\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":8}}\n\ndata: [DONE]\n\n",
    );
    let messages = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"model\":\"real\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"look\",\"input\":{}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"at\\\":1}\"}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"hé\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":8}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    for (provider, stream, image) in [
        (Provider::OpenAi, chat, "/messages/1/content/1/image_url/url"),
        (Provider::Anthropic, messages, "/messages/0/content/1/source/data"),
    ] {
        let upstream = Upstream::start(move |_, _| {
            let pieces: Vec<&[u8]> = stream.as_bytes().chunks(41).collect();
            events(&pieces)
        })
        .await;
        let mut settings = config(&upstream, provider);
        if provider == Provider::OpenAi {
            settings.upstreams[0].interfaces = vec![stave_block::Surface::OpenAiChat];
        }
        let scene = Scene::new(settings).await;
        let answer = scene.post("/v1/responses", &RESPONSES.replace("STREAM", "true")).await;
        let text = answer.text();
        assert!(answer.is_whole && text.starts_with("event: response.created\n"), "{text}");
        assert!(text.contains("event: response.completed\n"), "{text}");
        let response = folded(&text);
        assert_eq!((response.text().as_str(), response.model.as_deref()), ("hé", Some("real")));
        let calls: Vec<_> = response.tool_calls().collect();
        assert_eq!(calls.len(), 1, "{text}");
        assert_eq!((calls[0].id.as_str(), calls[0].arguments.as_str()), ("t1", "{\"at\":1}"));
        assert_eq!(response.usage.map(|usage| (usage.input, usage.output)), Some((5, 8)));
        let sent = stave_canon::parse(&upstream.calls()[0].body).unwrap();
        let sent_image = sent.pointer(image).and_then(Value::as_str).unwrap_or_default();
        assert!(sent_image.ends_with("QUJD"), "{sent}");
        let record = &scene.records_of(1).await[0];
        assert_eq!((record.input, record.output, record.outcome.as_str()), (5, 8, "answered"));
    }
}

#[tokio::test]
async fn what_only_the_provider_keeps_is_not_left_out() {
    let upstream = Upstream::always(whole(200, "", crate::scene::MESSAGES_REPLY)).await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    let ask = |more: &str, input: &str| format!(r#"{{"model":"m","input":{input}{more}}}"#);
    for (more, input, name) in [
        (r#","previous_response_id":"resp_1""#, "\"hi\"", "previous_response_id"),
        (r#","conversation":"conv_1""#, "\"hi\"", "conversation"),
        (r#","prompt":{"id":"p_1"}"#, "\"hi\"", "prompt"),
        (r#","background":true"#, "\"hi\"", "background"),
        ("", r#"[{"type":"item_reference","id":"msg_1"}]"#, "item_reference"),
    ] {
        let answer = scene.post("/v1/responses", &ask(more, input)).await;
        assert_eq!(
            (answer.status, answer.at("/error/code").as_str()),
            (400, "unsupported_parameter"),
            "{name}"
        );
        assert!(answer.at("/error/message").contains(name), "{}", answer.text());
    }
    assert_eq!(upstream.calls().len(), 0);
    let nothing = r#","previous_response_id":null,"background":false"#;
    let answer = scene.post("/v1/responses", &ask(nothing, "\"hi\"")).await;
    assert_eq!((answer.status, answer.at("/output/0/content/0/text").as_str()), (200, "hello"));
}

#[tokio::test]
async fn errors_are_told_in_the_words_of_the_client() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let upstream = Upstream::always(whole(529, "retry-after: 9\r\n", overloaded)).await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.at("/error/message").as_str()), (529, "Overloaded"));
    assert_eq!(
        (answer.at("/error/type").as_str(), answer.header("retry-after")),
        ("server_error", Some("9"))
    );
    let broken = Upstream::always(events(&[
        b"data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"par\"}}\n\n",
    ]))
    .await;
    let scene = Scene::new(config(&broken, Provider::Anthropic)).await;
    let answer = scene.post("/v1/chat/completions", crate::scene::CHAT_STREAM).await;
    assert!(
        answer.text().contains("\"par\"") && answer.text().contains("\"upstream_broke_off\""),
        "{}",
        answer.text()
    );
    assert!(!answer.text().contains("[DONE]"));
    assert_eq!(scene.records_of(1).await[0].outcome, "failed");
    let unreadable = Upstream::always(whole(200, "", "<html>")).await;
    let scene = Scene::new(config(&unreadable, Provider::Anthropic)).await;
    let answer = scene.post("/v1/chat/completions", CHAT).await;
    assert_eq!((answer.status, answer.at("/error/code").as_str()), (502, "upstream_unreadable"));
}

#[tokio::test]
async fn a_whole_reply_in_place_of_events_is_charged_when_it_is_translated() {
    let reply = r#"{"id":"m1","type":"message","role":"assistant","model":"claude-real","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":9}}"#;
    let pretty = reply.replace(",\"", ",\n  \"");
    let no_reply = "word ".repeat(800);
    for (body, (least, most)) in [(reply, (9, 9)), (&pretty, (9, 9)), (&no_reply, (1000, 1001))] {
        let body = body.to_owned();
        let upstream = Upstream::start(move |_, _| events(&[body.as_bytes()])).await;
        let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
        let answer = scene.post("/v1/chat/completions", &TOOL_CHAT.replace("STREAM", "true")).await;
        assert!(answer.text().contains("upstream_broke_off"), "{}", answer.text());
        let record = &scene.records_of(1).await[0];
        assert!((least..=most).contains(&record.output), "{record:?}");
        assert_eq!(record.outcome, "failed");
    }
    // The same when the upstream says that it is a whole reply.
    let upstream = Upstream::always(whole(200, "", reply)).await;
    let scene = Scene::new(config(&upstream, Provider::Anthropic)).await;
    scene.post("/v1/chat/completions", &TOOL_CHAT.replace("STREAM", "true")).await;
    let record = &scene.records_of(1).await[0];
    assert_eq!((record.input, record.output, record.outcome.as_str()), (5, 9, "answered"));
}
