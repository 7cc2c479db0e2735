//! What a collector receives of runs, and what it does not.

mod collector;
mod gateway;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use self::collector::{Collector, Seen};
use crate::folder::Folder;
use crate::json::values;
use crate::process::{Stave, stave};
use crate::scripted::host::HostScript;
use crate::scripted::model::ModelScript;
use crate::serve::client::Served;

const KEY: &str = "sk-live-7c2f9e61d0b4";
const QUESTION: &str = "What is in the blue drawer?";
const ANSWER: &str = "Eleven silver spoons.";

/// Asks a model that may look things up at a host.
fn lookup(model: u16, host: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: lookup}}
context: {{requires: [q]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      system: You answer briefly.
      template: "{{{{ q }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{model}/v1"}}
      max_tokens: 100
      tools:
        - name: open_drawer
          description: What is in a drawer.
          parameters: {{type: object, properties: {{drawer: {{type: string}}}}, required: [drawer]}}
          maps_to: drawers
    runtime: {{retries: 1}}
  drawers:
    type: transform
    inputs: [{{name: drawer, type: string}}]
    outputs: [{{name: text, type: string}}]
    transform:
      mode: declarative
      spec:
        op: http.get
        args:
          url: "http://127.0.0.1:{host}/drawers/${{drawer}}"
          headers: {{Authorization: "Bearer ${{secrets.DRAWER_TOKEN}}"}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.q, to: ask.q}}
  - {{from: ask.a, to: _output.a}}
"#
    )
}

/// A model that fails once, calls its tool and then answers.
fn model() -> std::sync::Arc<ModelScript> {
    ModelScript::new(&values(&format!(
        r#"[{{"status": 500, "message": "busy with {KEY}"}},
            {{"tool_calls": [{{"name": "open_drawer", "arguments": {{"drawer": "blue"}}}}]}},
            {{"content": "{ANSWER}"}}]"#
    )))
}

fn host() -> std::sync::Arc<HostScript> {
    HostScript::new(&values(
        r#"[{"method": "GET", "path": "/drawers/blue", "text": "spoons: 11", "times": 4}]"#,
    ))
}

struct World {
    folder: Folder,
    collector: std::sync::Arc<Collector>,
    host: std::sync::Arc<HostScript>,
    endpoint: String,
    _servers: [crate::scripted::Server; 3],
}

impl World {
    async fn new(settings: &str) -> World {
        let (collector, collecting) = Collector::start().await;
        let (model, host) = (model(), host());
        let (asked, looked_up) = (model.serve().await, host.serve().await);
        let folder = Folder::new();
        folder.write("flows/lookup.yaml", lookup(asked.port, looked_up.port));
        let endpoint = format!("http://127.0.0.1:{}", collecting.port);
        let settings = settings.replace("ENDPOINT", &endpoint);
        let allowed = "[http]\nallow = [\"127.0.0.1\"]\n[secrets.DRAWER_TOKEN]\nhosts = [\"127.0.0.1\"]\n";
        folder.write("stave.toml", format!("{allowed}{settings}"));
        folder.write("request.json", format!(r#"{{"q": "{QUESTION}"}}"#));
        World { folder, collector, host, endpoint, _servers: [collecting, asked, looked_up] }
    }

    fn run(&self) -> Stave {
        let arguments = ["run", "flows/lookup.yaml", "--input", "request.json", "--json"];
        stave(&self.folder, arguments).env("OPENAI_API_KEY", KEY).env("DRAWER_TOKEN", KEY)
    }
}

fn by_name<'s>(spans: &'s [Seen], name: &str) -> Vec<&'s Seen> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[track_caller]
fn sole<'s>(spans: &'s [Seen], name: &str) -> &'s Seen {
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    match by_name(spans, name).as_slice() {
        [span] => span,
        found => panic!("{} spans are called {name}: {names:?}", found.len()),
    }
}

#[track_caller]
fn has(span: &Seen, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(span.attributes.get(*key).map(String::as_str), Some(*value), "{key} of {span:#?}");
    }
}

#[tokio::test]
async fn a_run_is_traced_down_to_its_model_and_its_tools() {
    let world = World::new("").await;
    let run = world.run().env("OTEL_EXPORTER_OTLP_ENDPOINT", &world.endpoint);
    let finished = run.env("OTEL_SERVICE_NAME", "drawers").finish().await.exits(0);
    let spans = world.collector.spans();
    let root = sole(&spans, "invoke_workflow lookup");
    assert_eq!(root.parent, "");
    let run_id = finished.json().get("run_id").and_then(|id| id.as_str().map(str::to_owned)).unwrap();
    has(
        root,
        &[
            ("gen_ai.operation.name", "invoke_workflow"),
            ("gen_ai.workflow.name", "lookup"),
            ("stave.run.id", &run_id),
            ("stave.status", "ok"),
        ],
    );
    assert!(spans.iter().all(|span| span.trace == root.trace), "one run is one trace");
    let ask = sole(&spans, "step ask");
    assert_eq!(ask.parent, root.id);
    has(ask, &[("stave.node.kind", "llm.chat"), ("stave.status", "ok"), ("stave.node.attempts", "2")]);
    let attempts = by_name(&spans, "attempt 1");
    let asking = attempts.iter().find(|attempt| attempt.parent == ask.id).expect("the step has an attempt");
    let chats = by_name(&spans, "chat gpt-4o-mini");
    assert_eq!(chats.len(), 2);
    for chat in &chats {
        assert_eq!((&chat.parent, chat.kind), (&asking.id, 3), "a client's span in the attempt");
        has(
            chat,
            &[
                ("gen_ai.operation.name", "chat"),
                ("gen_ai.provider.name", "openai"),
                ("gen_ai.request.model", "gpt-4o-mini"),
                ("gen_ai.response.model", "gpt-4o-mini"),
                ("gen_ai.request.max_tokens", "100"),
                ("gen_ai.output.type", "text"),
                ("server.address", "127.0.0.1"),
            ],
        );
        assert!(chat.attributes["gen_ai.usage.input_tokens"].parse::<u64>().unwrap() > 0);
        assert!(chat.attributes["gen_ai.usage.output_tokens"].parse::<u64>().unwrap() > 0);
    }
    has(chats[0], &[("gen_ai.response.finish_reasons", "tool_call"), ("stave.model.attempts", "2")]);
    assert_eq!(chats[0].events, ["retry"]);
    has(chats[1], &[("gen_ai.response.finish_reasons", "stop"), ("stave.model.attempts", "1")]);
    let tool = sole(&spans, "execute_tool open_drawer");
    assert_eq!(tool.parent, asking.id);
    has(tool, &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "open_drawer")]);
    let drawers = sole(&spans, "step drawers");
    assert_eq!(drawers.parent, tool.id);
    has(drawers, &[("stave.node.kind", "http.get")]);
    // The host learns where in the trace its request is.
    let fetching = attempts.iter().find(|attempt| attempt.parent == drawers.id).unwrap();
    let sent = world.host.log.lock().calls[0].headers["traceparent"].to_str().unwrap().to_owned();
    assert_eq!(sent, format!("00-{}-{}-01", root.trace, fetching.id));
    has_resource(&world.collector.resource());
}

fn has_resource(resource: &BTreeMap<String, String>) {
    assert_eq!(resource["service.name"], "drawers");
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn tokens_and_times_are_measured() {
    let world = World::new("[telemetry]\nendpoint = \"ENDPOINT\"\n").await;
    world.run().finish().await.exits(0);
    let points = world.collector.points();
    let of = |name: &str| points.iter().filter(|(metric, ..)| metric == name).collect::<Vec<_>>();
    let usage = of("gen_ai.client.token.usage");
    for kind in ["input", "output"] {
        let (_, attributes, count, sum) =
            usage.iter().find(|(_, attributes, ..)| attributes["gen_ai.token.type"] == kind).unwrap();
        assert_eq!(*count, 2, "two answers");
        assert!(*sum > 0.0);
        assert_eq!(attributes["gen_ai.provider.name"], "openai");
        assert_eq!(attributes["gen_ai.request.model"], "gpt-4o-mini");
    }
    let durations: u64 = of("gen_ai.client.operation.duration").iter().map(|(_, _, count, _)| count).sum();
    assert_eq!(durations, 2);
    assert_eq!(of("gen_ai.workflow.duration")[0].1["stave.status"], "ok");
    let steps: u64 = of("stave.step.duration").iter().map(|(_, _, count, _)| count).sum();
    assert!(steps >= 2, "{points:?}");
}

#[tokio::test]
async fn what_was_said_leaves_only_when_it_is_asked_for_and_secrets_never() {
    let contains = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    for (settings, is_captured) in [
        ("[telemetry]\nendpoint = \"ENDPOINT\"\n", false),
        ("[telemetry]\nendpoint = \"ENDPOINT\"\ncontent = true\n", true),
    ] {
        let world = World::new(settings).await;
        world.folder.write("request.json", format!(r#"{{"q": "{QUESTION} My key is {KEY}."}}"#));
        world.run().finish().await.exits(0);
        let bytes = world.collector.bytes();
        for text in [QUESTION, ANSWER, "You answer briefly.", "spoons: 11"] {
            assert_eq!(contains(&bytes, text), is_captured, "{text} with {settings}");
        }
        assert!(!contains(&bytes, KEY), "a secret left with {settings}");
        let spans = world.collector.spans();
        let tool = sole(&spans, "execute_tool open_drawer");
        assert_eq!(tool.attributes.contains_key("gen_ai.tool.call.arguments"), is_captured);
        for chat in by_name(&spans, "chat gpt-4o-mini") {
            for key in ["gen_ai.input.messages", "gen_ai.output.messages"] {
                assert_eq!(chat.attributes.contains_key(key), is_captured, "{key}");
            }
        }
    }
}

#[tokio::test]
async fn a_failed_step_says_its_code_and_not_its_words() {
    let world = World::new("[telemetry]\nendpoint = \"ENDPOINT\"\n").await;
    world.folder.write("flows/fail.yaml", crate::serve::sample::echo(""));
    let arguments = ["run", "flows/fail.yaml", "--input", "-"];
    stave(&world.folder, arguments).input(r#"{"query": "fail with words"}"#).finish().await.exits(1);
    let spans = world.collector.spans();
    for name in ["invoke_workflow echo", "step say", "attempt 1"] {
        let span = spans.iter().rfind(|span| span.name == name).unwrap();
        assert_eq!(span.status, (2, String::new()), "{span:?}");
        has(span, &[("error.type", "code-failed")]);
    }
    assert!(!String::from_utf8_lossy(&world.collector.bytes()).contains("asked to fail"));
}

#[tokio::test]
async fn nothing_is_sent_by_default_and_a_dead_collector_delays_nobody_for_long() {
    let world = World::new("").await;
    world.run().finish().await.exits(0);
    assert!(world.collector.calls().is_empty());
    assert!(!world.host.log.lock().calls[0].headers.contains_key("traceparent"));
    // A port that takes connections and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://127.0.0.1:{}", silent.local_addr().unwrap().port());
    world.folder.write("flows/echo.yaml", crate::serve::sample::echo(""));
    let started = Instant::now();
    let run = stave(&world.folder, ["run", "flows/echo.yaml", "--input", "-", "--json"]);
    let run = run.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint).input(r#"{"query": "x"}"#);
    run.finish().await.exits(0);
    assert!(started.elapsed() < Duration::from_secs(20), "the end is bounded");
    drop(silent);
}

#[tokio::test]
async fn a_server_goes_on_with_the_trace_of_its_caller() {
    let world = World::new("[telemetry]\nendpoint = \"ENDPOINT\"\n").await;
    world.folder.write("flows/echo.yaml", crate::serve::sample::echo(""));
    let served = Served::start(&world.folder, &[]).await;
    let (trace, caller) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let parent = format!("00-{trace}-{caller}-01");
    let headers = [("content-type", "application/json"), ("traceparent", parent.as_str())];
    let path = "/v1/models/echo:predict";
    served.ask("POST", path, &headers, Some(r#"{"query": "x"}"#)).await.is(200);
    // A caller that does not record its trace wants none recorded.
    let unsampled = format!("00-{trace}-{caller}-00");
    let headers = [("content-type", "application/json"), ("traceparent", unsampled.as_str())];
    served.ask("POST", path, &headers, Some(r#"{"query": "y"}"#)).await.is(200);
    served.end().await.exits(0);
    let spans = world.collector.spans();
    let root = sole(&spans, "invoke_workflow echo");
    assert_eq!((root.trace.as_str(), root.parent.as_str()), (trace, caller));
    assert_eq!(root.kind, 2, "a server's span");
}
