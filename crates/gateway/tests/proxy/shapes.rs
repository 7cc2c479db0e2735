//! A reply is charged for what passed, in whatever shape it came.

use stave_llm::Provider;

use crate::scene::{Scene, config};
use crate::upstream::{Step, Upstream, events, whole};

/// The output that a reply is charged for.
async fn output(provider: Provider, reply: Vec<Step>) -> i64 {
    let (path, body) = match provider {
        Provider::Anthropic => ("/v1/messages", r#"{"model":"m","max_tokens":8000,"messages":[]}"#),
        Provider::OpenAiResponses => {
            ("/v1/responses", r#"{"model":"m","max_output_tokens":8000,"input":"hi"}"#)
        }
        _ => ("/v1/chat/completions", r#"{"model":"m","max_tokens":8000,"messages":[]}"#),
    };
    let upstream = Upstream::always(reply).await;
    let scene = Scene::new(config(&upstream, provider)).await;
    assert_eq!(scene.post(path, body).await.status, 200);
    scene.records_of(1).await[0].output
}

fn stream(text: &str) -> Vec<Step> {
    events(&[text.as_bytes()])
}

/// 20 kB of words, 5000 tokens.
fn novel() -> String {
    "word".repeat(5000)
}

#[tokio::test]
async fn a_stream_that_is_no_stream_is_charged() {
    let text = novel();
    let json = format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}]}}"#);
    let delta = format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
    for (name, reply) in [
        ("plain JSON", json.clone()),
        ("plain JSON with an end of line", format!("{json}\n")),
        ("events without data", format!("event: chunk\n{delta}\n\n")),
        ("another field", format!("payload: {delta}\n\n")),
        ("text in the name of an event", format!("event: {text}\n\n")),
        ("text in a comment", format!(": {text}\n\n")),
        ("a mark of byte order", format!("\u{feff}data: {delta}\n\n")),
        ("lines that a carriage return ends", format!("event: chunk\rdata: {delta}\r\rdata: [DONE]\r\r")),
        ("no object", format!("data: [\"{text}\"]\n\n")),
    ] {
        let output = output(Provider::OpenAi, stream(&reply)).await;
        assert!((5000..5100).contains(&output), "{name}: {output}");
    }
}

#[tokio::test]
async fn text_in_any_member_of_a_chat_reply_is_charged() {
    let text = novel();
    for (name, choice) in [
        ("message", format!(r#""message":{{"content":"{text}"}}"#)),
        ("text", format!(r#""text":"{text}""#)),
        ("data", format!(r#""delta":{{"data":"{text}"}}"#)),
        ("result", format!(r#""delta":{{"result":"{text}"}}"#)),
        ("annotations", format!(r#""delta":{{"annotations":["{text}"]}}"#)),
        ("a call that chat does not have", format!(r#""delta":{{"type":"x_call","text":"{text}"}}"#)),
        ("id", format!(r#""delta":{{"id":"{text}"}}"#)),
        ("a name", format!(r#""delta":{{"{text}":1}}"#)),
    ] {
        let event = format!("data: {{\"choices\":[{{{choice}}}]}}\n\n");
        let streamed = output(Provider::OpenAi, stream(&event)).await;
        assert!((5000..5100).contains(&streamed), "{name}, streamed: {streamed}");
        let reply = format!(r#"{{"choices":[{{{choice}}}]}}"#);
        let whole = output(Provider::OpenAi, whole(200, "", &reply)).await;
        assert!((5000..5100).contains(&whole), "{name}, whole: {whole}");
    }
    for reply in [format!(r#"{{"reply":"{text}"}}"#), format!(r#"{{"choices":[],"reply":["{text}"]}}"#)] {
        assert_eq!(output(Provider::OpenAi, stream(&format!("data: {reply}\n\n"))).await, 5000);
        assert_eq!(output(Provider::OpenAi, whole(200, "", &reply)).await, 5000);
    }
}

#[tokio::test]
async fn items_of_a_responses_stream_that_breaks_off_are_charged_once() {
    let text = novel();
    let delta = format!(r#"{{"type":"response.output_text.delta","delta":"{text}"}}"#);
    let part =
        format!(r#"{{"type":"response.content_part.done","part":{{"type":"output_text","text":"{text}"}}}}"#);
    let done = format!(r#"{{"type":"response.output_text.done","text":"{text}"}}"#);
    let item = format!(
        r#"{{"type":"response.output_item.done","item":{{"type":"message","content":[{{"type":"output_text","text":"{text}"}}]}}}}"#
    );
    let shell = format!(
        r#"{{"type":"response.output_item.done","item":{{"type":"shell_call","action":{{"commands":["{text}"]}}}}}}"#
    );
    let unknown = format!(r#"{{"type":"response.thought","thought":"{text}"}}"#);
    let last = format!(
        r#"{{"type":"response.completed","response":{{"output":[{{"type":"message","content":[{{"text":"{text}"}}]}}]}}}}"#
    );
    for (name, expected, list) in [
        ("an item", 5000, vec![&item]),
        ("an item of a shell", 5000, vec![&shell]),
        ("a text that is done", 5000, vec![&done]),
        ("an event of no known kind", 5000, vec![&unknown]),
        ("the last event", 5000, vec![&last]),
        ("all events of an item", 5000, vec![&delta, &done, &part, &item]),
        ("all events of two items", 10_000, vec![&delta, &done, &part, &item, &shell]),
        ("an item and half of another", 10_000, vec![&delta, &item, &delta]),
        ("all events of an item and the last one", 5000, vec![&delta, &done, &part, &item, &last]),
        ("an event of no known kind beside an item", 10_000, vec![&delta, &item, &unknown]),
    ] {
        let text: String = list.iter().map(|event| format!("data: {event}\n\n")).collect();
        let output = output(Provider::OpenAiResponses, stream(&text)).await;
        assert!((expected..expected + 100).contains(&output), "{name}: {output}");
    }
}

#[tokio::test]
async fn events_of_messages_that_nobody_knows_are_charged() {
    let text = novel();
    for (name, event) in [
        ("kind", format!(r#"{{"type":"content_block","text":"{text}"}}"#)),
        ("start", format!(r#"{{"type":"message_start","message":{{"content":[{{"text":"{text}"}}]}}}}"#)),
        ("delta", format!(r#"{{"type":"message_delta","delta":{{"text":"{text}"}}}}"#)),
        ("stop", format!(r#"{{"type":"message_stop","text":"{text}"}}"#)),
    ] {
        let output = output(Provider::Anthropic, stream(&format!("data: {event}\n\n"))).await;
        assert!((5000..5100).contains(&output), "{name}: {output}");
    }
}

#[tokio::test]
async fn what_a_reply_says_beside_its_text_is_not_charged() {
    let long = novel();
    let chat = format!(
        "data: {}\n\n",
        r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","service_tier":"default","obfuscation":"abcdefgh","choices":[{"index":0,"delta":{"role":"assistant","content":"hello you"},"finish_reason":null,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}"#
    );
    let chat = format!(": keeps the connection\n\nevent: chunk\nid: 1\nretry: 10\n{chat}");
    assert_eq!(output(Provider::OpenAi, stream(&chat)).await, 3);
    let created = format!(
        r#"{{"type":"response.created","sequence_number":0,"response":{{"id":"r1","status":"in_progress","instructions":"{long}","tools":[{{"type":"function","name":"f","description":"{long}"}}],"metadata":{{"a":"{long}"}},"output":[]}}}}"#
    );
    let delta = r#"{"type":"response.output_text.delta","item_id":"i1","output_index":0,"content_index":0,"delta":"hello you","logprobs":[],"obfuscation":"abcdefgh"}"#;
    let responses = format!("data: {created}\n\ndata: {delta}\n\n");
    assert_eq!(output(Provider::OpenAiResponses, stream(&responses)).await, 3);
    let counted = format!(
        r#"{{"choices":[{{"message":{{"content":"hi","annotations":[{{"type":"url_citation","title":"{long}"}}]}}}}],"usage":{{"prompt_tokens":7,"completion_tokens":3}}}}"#
    );
    assert_eq!(output(Provider::OpenAi, whole(200, "", &counted)).await, 3);
}
