//! What a collector receives of requests to the gateway, and what it does not.

use std::sync::Arc;

use super::collector::Collector;
use super::{ANSWER, KEY, QUESTION, by_name, has, sole, values};
use crate::folder::Folder;
use crate::process::stave;
use crate::scripted::Server;
use crate::scripted::model::ModelScript;
use crate::serve::client::Served;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

struct World {
    collector: Arc<Collector>,
    model: Arc<ModelScript>,
    gateway: Served,
    _folder: Folder,
    _servers: [Server; 2],
}

/// A gateway in front of a model that fails once and then answers, as often as it is asked.
async fn world(settings: &str) -> World {
    let (collector, collecting) = Collector::start().await;
    let answer = format!(r#"{{"content": "{ANSWER} The key is {KEY}."}}"#);
    let script = format!(
        r#"[{{"status": 500, "message": "busy with {KEY}"}}, {answer}, {answer}, {answer}, {answer}]"#
    );
    let model = ModelScript::new(&values(&script));
    let asked = model.serve().await;
    let folder = Folder::new();
    let endpoint = format!("http://127.0.0.1:{}", collecting.port);
    let settings = settings.replace("ENDPOINT", &endpoint);
    folder.write(
        "stave.toml",
        format!(
            "{settings}\n[gateway.upstreams.house]\nprovider = \"openai\"\nendpoint = \"http://127.0.0.1:{}/v1\"\n\
             key = \"${{secrets.HOUSE_KEY}}\"\ninterfaces = [\"chat_completions\"]\n\
             [gateway.retries]\nbackoff_ms = 1\n",
            asked.port
        ),
    );
    let process = stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).env("HOUSE_KEY", KEY);
    let gateway = Served::of(process).await;
    World { collector, model, gateway, _folder: folder, _servers: [collecting, asked] }
}

fn chat(stream: bool) -> String {
    format!(
        r#"{{"model":"gpt-4o-mini","max_tokens":50,"stream":{stream},"stream_options":{{"include_usage":true}},"prompt_cache_key":"talk","messages":[{{"role":"system","content":"You answer briefly."}},{{"role":"user","content":"{QUESTION} I use AKIAIOSFODNN7EXAMPLE."}}]}}"#
    )
}

const TRACED: &str = "[telemetry]\nendpoint = \"ENDPOINT\"\n";

#[tokio::test]
async fn a_request_is_traced_through_its_attempts_and_its_trace_goes_on_upstream() {
    let world = world(TRACED).await;
    let headers = [("content-type", "application/json"), ("traceparent", PARENT), ("tracestate", "vendor=1")];
    let path = "/v1/chat/completions";
    world.gateway.ask("POST", path, &headers, Some(&chat(false))).await.is(200);
    let streamed = world.gateway.ask("POST", path, &headers, Some(&chat(true))).await.is(200);
    assert!(streamed.body.contains("[DONE]"), "{}", streamed.body);
    // One that is answered in another interface's words.
    let messages = r#"{"model":"gpt-4o-mini","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    world.gateway.ask("POST", "/v1/messages", &headers, Some(messages)).await.is(200);
    world.gateway.ask("POST", path, &headers, Some("{}")).await.is(400);
    world.gateway.end().await.exits(0);
    let spans = world.collector.spans();
    assert!(spans.iter().all(|span| span.trace == TRACE), "all of it is the client's trace");
    let requests = by_name(&spans, "POST /v1/chat/completions");
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert_eq!((request.parent.as_str(), request.kind), ("00f067aa0ba902b7", 2), "a server's span");
        has(request, &[("http.request.method", "POST"), ("http.route", "/v1/chat/completions")]);
    }
    let retried = requests.iter().find(|span| span.attributes["stave.attempts"] == "2").expect("a retry");
    has(retried, &[("http.response.status_code", "200"), ("stave.outcome", "answered")]);
    assert!(retried.attributes["stave.request.id"].starts_with("req_"));
    assert_eq!(retried.attributes["gen_ai.conversation.id"].len(), 16, "a hash of what the client says");
    let refused = requests.iter().find(|span| span.attributes["stave.outcome"] == "refused").unwrap();
    has(refused, &[("http.response.status_code", "400"), ("error.type", "400")]);
    assert_eq!(refused.status.0, 0, "a client's mistake is no failure of the server");
    let chats = by_name(&spans, "chat gpt-4o-mini");
    assert_eq!(chats.len(), 4, "the first request asked twice");
    for chat in &chats {
        assert_eq!(chat.kind, 3, "a client's span");
        has(
            chat,
            &[
                ("gen_ai.operation.name", "chat"),
                ("gen_ai.provider.name", "openai"),
                ("gen_ai.request.model", "gpt-4o-mini"),
                ("server.address", "127.0.0.1"),
                ("stave.upstream", "house"),
            ],
        );
    }
    let below: Vec<_> = chats.iter().filter(|chat| chat.parent == retried.id).collect();
    let failed = below.iter().find(|chat| chat.attributes["stave.attempt"] == "1").unwrap();
    has(failed, &[("error.type", "server_error")]);
    assert_eq!(failed.status, (2, String::new()));
    for chat in chats.iter().filter(|chat| chat.id != failed.id) {
        has(chat, &[("gen_ai.response.model", "gpt-4o-mini"), ("gen_ai.response.finish_reasons", "stop")]);
        assert!(chat.attributes["gen_ai.usage.input_tokens"].parse::<u64>().unwrap() > 0);
        assert!(chat.attributes["gen_ai.usage.output_tokens"].parse::<u64>().unwrap() > 0);
        assert!(chat.attributes.contains_key("gen_ai.response.id"));
    }
    sole(&spans, "POST /v1/messages");
    // Each request tells the upstream where in the trace it is.
    let calls = world.model.log.lock().calls.clone();
    let mut told: Vec<String> =
        calls.iter().map(|call| call.headers["traceparent"].to_str().unwrap().to_owned()).collect();
    let mut expected: Vec<String> = chats.iter().map(|chat| format!("00-{TRACE}-{}-01", chat.id)).collect();
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    assert!(calls.iter().all(|call| call.headers["tracestate"] == "vendor=1"));
    let points = world.collector.points();
    let counted = |name: &str| -> u64 {
        points.iter().filter(|(metric, ..)| metric == name).map(|(_, _, count, _)| count).sum()
    };
    assert_eq!(counted("http.server.request.duration"), 4);
    assert_eq!(counted("gen_ai.client.operation.duration"), 4);
    assert_eq!(counted("gen_ai.client.token.usage"), 6, "input and output of three answers");
}

#[tokio::test]
async fn what_clients_and_models_said_leaves_only_when_it_is_asked_for_and_secrets_never() {
    let contains = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    for (settings, is_captured) in [
        (TRACED.to_owned(), false),
        (format!("{TRACED}content = true\n"), true),
        // With no gate, and so with the secret on its way to the model.
        (format!("{TRACED}content = true\n[gateway]\ngate = false\n"), true),
    ] {
        let world = world(&settings).await;
        for stream in [false, true] {
            world.gateway.post("/v1/chat/completions", &chat(stream)).await.is(200);
        }
        world.gateway.end().await.exits(0);
        let bytes = world.collector.bytes();
        for text in [QUESTION, ANSWER, "You answer briefly."] {
            assert_eq!(contains(&bytes, text), is_captured, "{text} with {settings}");
        }
        for secret in [KEY, "AKIAIOSFODNN7EXAMPLE", "\"talk\""] {
            assert!(!contains(&bytes, secret), "{secret} left with {settings}");
        }
        let spans = world.collector.spans();
        let answered: Vec<_> = by_name(&spans, "chat gpt-4o-mini")
            .into_iter()
            .filter(|span| !span.attributes.contains_key("error.type"))
            .collect();
        assert_eq!(answered.len(), 2);
        for chat in answered {
            for key in ["gen_ai.input.messages", "gen_ai.output.messages"] {
                assert_eq!(chat.attributes.contains_key(key), is_captured, "{key}");
            }
        }
    }
}

#[tokio::test]
async fn without_an_address_nothing_is_traced_and_the_clients_header_passes() {
    let world = world("").await;
    let headers = [("content-type", "application/json"), ("traceparent", PARENT)];
    world.gateway.ask("POST", "/v1/chat/completions", &headers, Some(&chat(false))).await.is(200);
    world.gateway.end().await.exits(0);
    assert!(world.collector.calls().is_empty());
    let calls = world.model.log.lock().calls.clone();
    assert!(calls.iter().all(|call| call.headers["traceparent"] == PARENT));
}
