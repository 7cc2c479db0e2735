//! Starts with a name: a request that is sent again is answered with the run that it started.

use std::sync::Arc;

use stave_canon::Value;

use super::client::{Answer, Served, ask};
use super::sample::{caller, project};
use crate::folder::Folder;
use crate::json::{items, text, values};
use crate::process::stave;
use crate::scripted::Server;
use crate::scripted::host::HostScript;

const JSON: (&str, &str) = ("content-type", "application/json");
const START: &str = r#"{"flow": "caller", "input": {"page": "pay"}}"#;

async fn shop(delay_ms: u32) -> (Folder, Arc<HostScript>, Server) {
    let script = HostScript::new(&values(&format!(
        r#"[{{"path": "/pay", "delay_ms": {delay_ms}, "json": {{"ok": true}}, "times": 99}},
            {{"path": "/other", "json": {{"ok": false}}, "times": 99}}]"#
    )));
    let host = script.serve().await;
    let folder = project();
    folder.write("flows/caller.yaml", caller(host.port).replace("timeout_ms: 3000", "timeout_ms: 60000"));
    (folder, script, host)
}

async fn keyed(port: u16, path: &str, key: &str, body: &str) -> Answer {
    ask(port, "POST", path, &[JSON, ("idempotency-key", key)], None, Some(body)).await
}

fn run_of(answer: &Answer) -> String {
    let found = answer.head.lines().find_map(|line| line.strip_prefix("x-stave-run-id: "));
    found.unwrap_or_else(|| panic!("no run in {answer:?}")).to_owned()
}

fn calls(script: &HostScript) -> usize {
    script.log.lock().calls.len()
}

#[tokio::test]
async fn equal_starts_under_one_key_are_one_run_also_at_the_same_time_and_after_a_restart() {
    let (folder, script, _host) = shop(300).await;
    let served = Served::start(&folder, &[]).await;
    // A second server works on the same store.
    let other = Served::start(&folder, &[]).await;
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..16 {
        let port = if number % 2 == 0 { served.port } else { other.port };
        asked.spawn(async move { keyed(port, "/runs", "k-1", START).await });
    }
    let answers = asked.join_all().await;
    let run = run_of(&answers[0]);
    for answer in answers {
        let answer = answer.is(202);
        assert_eq!(run_of(&answer), run);
        assert_eq!(text(&answer.json(), "run_id"), Some(run.as_str()));
    }
    // Every request gets the answer of the one run, while it is in progress and after it has ended.
    for _ in 0..2 {
        let waited = keyed(other.port, "/runs?wait=true", "k-1", START).await.is(200).json();
        assert_eq!(waited.pointer("/output/reply/ok"), Some(&true.into()), "{waited}");
    }
    assert_eq!(calls(&script), 1);
    served.end().await;
    other.end().await;
    let served = Served::start(&folder, &[]).await;
    let again = keyed(served.port, "/runs?wait=true", "k-1", START).await.is(200);
    assert_eq!(run_of(&again), run);
    assert_eq!(calls(&script), 1);
}

#[tokio::test]
async fn another_request_under_a_known_name_is_a_conflict() {
    let (folder, script, _host) = shop(0).await;
    let served = Served::start(&folder, &[]).await;
    keyed(served.port, "/runs?wait=true", "k", START).await.is(200);
    let other = START.replace("pay", "other");
    keyed(served.port, "/runs", "k", &other).await.problem(409, "idempotency-conflict");
    let predict = "/v1/models/caller:predict";
    keyed(served.port, predict, "k", r#"{"page": "other"}"#).await.problem(409, "idempotency-conflict");
    // The same request by another protocol is the same request, and a key of another flow is another key.
    keyed(served.port, predict, "k", r#"{"page": "pay"}"#).await.is(200);
    keyed(served.port, "/v1/models/echo:predict", "k", r#"{"query": "x"}"#).await.is(200);
    assert_eq!(calls(&script), 1);

    let named = r#"{"run_id": "order-17", "flow": "caller", "input": {"page": "pay"}}"#;
    for _ in 0..3 {
        let begun = served.post("/runs?wait=true", named).await.is(200);
        assert_eq!(run_of(&begun), "order-17");
    }
    assert_eq!(calls(&script), 2);
    served.post("/runs", &named.replace("pay", "other")).await.problem(409, "run-exists");
    let header = [JSON, ("x-stave-run-id", "order-17")];
    let echo = served.ask("POST", "/v1/models/echo:predict", &header, Some(r#"{"query": "x"}"#)).await;
    echo.problem(409, "run-exists");
    // Another id that begins with the same letters is another run, and both can be shown.
    served.post("/runs?wait=true", &named.replace("order-17", "order-1")).await.is(200);
    stave(&folder, ["runs", "show", "order-1", "--json"]).finish().await.exits(0);
    assert_eq!(calls(&script), 3);
}

/// Calls a tool over HTTP under a key.
async fn called_as_tool(port: u16, key: &str, page: &str) -> Value {
    let body = format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "caller", "arguments": {{"page": "{page}"}}}}}}"#
    );
    let headers = [
        JSON,
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
        ("idempotency-key", key),
    ];
    let answer = ask(port, "POST", "/mcp", &headers, None, Some(&body)).await.is(200);
    let message = answer.body.lines().find_map(|line| {
        let line = line.strip_prefix("data:").unwrap_or(line).trim();
        stave_canon::parse(line).ok()?.get("result").cloned()
    });
    message.unwrap_or_else(|| panic!("no result in {answer:?}"))
}

#[tokio::test]
async fn a_key_names_calls_of_tools_and_starts_alike() {
    let (folder, script, _host) = shop(0).await;
    let served = Served::start(&folder, &[]).await;
    let first = called_as_tool(served.port, "tool-1", "pay").await;
    assert_eq!(first.pointer("/structuredContent/reply/ok"), Some(&true.into()), "{first}");
    assert_eq!(called_as_tool(served.port, "tool-1", "pay").await, first);
    keyed(served.port, "/runs?wait", "tool-1", START).await.is(200);
    assert_eq!(calls(&script), 1, "three requests of one name are one run");
    let other = called_as_tool(served.port, "tool-1", "other").await;
    assert_eq!(other.get("isError"), Some(&true.into()), "{other}");
    assert!(other.to_string().contains("idempotency-conflict"), "{other}");
    called_as_tool(served.port, "tool-2", "pay").await;
    assert_eq!(calls(&script), 2);
}

#[tokio::test]
async fn a_key_names_runs_of_the_studio_and_their_text() {
    let (folder, script, _host) = shop(0).await;
    let served = Served::start(&folder, &[]).await;
    let run = async |key: &str, text: Option<&str>| {
        let body = Value::from_iter([
            ("path", Value::from("flows/caller.yaml")),
            ("text", text.map(str::to_owned).into()),
            ("input", Value::from_iter([("page", "pay")])),
        ]);
        keyed(served.port, "/studio/run", key, &body.to_string()).await
    };
    let first = run_of(&run("page-1", None).await.is(202));
    assert_eq!(run_of(&run("page-1", None).await.is(202)), first);
    // The file as it is served is the flow that other clients start.
    let same = keyed(served.port, "/runs?wait", "page-1", START).await.is(200);
    assert_eq!(run_of(&same), first);
    assert_eq!(calls(&script), 1);

    let edited = folder.read("flows/caller.yaml").replace("timeout_ms: 60000", "timeout_ms: 50000");
    run("page-1", Some(&edited)).await.problem(409, "idempotency-conflict");
    let text = run_of(&run("page-2", Some(&edited)).await.is(202));
    assert_eq!(run_of(&run("page-2", Some(&edited)).await.is(202)), text);
    run("page-2", None).await.problem(409, "idempotency-conflict");
    run("a b", None).await.problem(400, "bad-request");
}

#[tokio::test]
async fn names_that_are_malformed_or_two_at_once_are_refused() {
    let (folder, script, _host) = shop(0).await;
    let served = Served::start(&folder, &[]).await;
    let long = "k".repeat(256);
    for key in ["", "a b", &long] {
        keyed(served.port, "/runs", key, START).await.problem(400, "bad-request");
        let body = r#"{"page": "pay"}"#;
        keyed(served.port, "/v1/models/caller:predict", key, body).await.problem(400, "bad-request");
    }
    for member in
        [r#""run_id": """#, r#""run_id": "a/b""#, r#""run_id": "key_0""#, r#""run_id": 7"#, r#""id": "x""#]
    {
        let body = START.replacen('{', &format!("{{{member}, "), 1);
        served.post("/runs", &body).await.problem(400, "bad-request");
    }
    let both = START.replacen('{', r#"{"run_id": "a", "#, 1);
    keyed(served.port, "/runs", "k", &both).await.problem(400, "bad-request");
    let batch = r#"{"instances": [{"page": "pay"}, {"page": "pay"}]}"#;
    let header = [JSON, ("x-stave-run-id", "one")];
    let answer = served.ask("POST", "/v1/models/caller:predict", &header, Some(batch)).await;
    answer.problem(400, "bad-request");
    assert_eq!(calls(&script), 0);
}

#[tokio::test]
async fn each_request_of_a_batch_runs_once_and_another_batch_under_the_key_is_a_conflict() {
    let (folder, script, _host) = shop(0).await;
    let served = Served::start(&folder, &[]).await;
    let predict = "/v1/models/caller:predict";
    let two = r#"{"instances": [{"page": "pay"}, {"page": "pay"}]}"#;
    let three = r#"{"instances": [{"page": "pay"}, {"page": "pay"}, {"page": "pay"}]}"#;
    let first = keyed(served.port, predict, "k", two).await.is(200).json();
    assert_eq!(items(&first, "predictions").len(), 2);
    assert_eq!(calls(&script), 2);
    assert_eq!(keyed(served.port, predict, "k", two).await.is(200).json(), first);
    for other in [three, r#"{"instances": [{"page": "pay"}]}"#, r#"{"page": "pay"}"#] {
        keyed(served.port, predict, "k", other).await.problem(409, "idempotency-conflict");
    }
    assert_eq!(calls(&script), 2);

    let tensor = |count: usize| {
        let data = vec![r#""{\"page\":\"pay\"}""#; count].join(", ");
        format!(
            r#"{{"inputs": [{{"name": "request", "datatype": "BYTES", "shape": [{count}], "data": [{data}]}}]}}"#
        )
    };
    let infer = "/v2/models/caller/infer";
    let first = keyed(served.port, infer, "v2", &tensor(2)).await.is(200).json();
    let again = keyed(served.port, infer, "v2", &tensor(2)).await.is(200).json();
    assert_eq!(first.pointer("/parameters/run_ids"), again.pointer("/parameters/run_ids"));
    keyed(served.port, infer, "v2", &tensor(3)).await.problem(409, "idempotency-conflict");
    assert_eq!(calls(&script), 4);
}

#[tokio::test]
async fn keys_of_tenants_do_not_meet_and_a_full_queue_answers_known_starts() {
    let (folder, script, _host) = shop(60000).await;
    let served = Served::start(&folder, &["--max-runs", "1", "--max-waiting", "0"]).await;
    let first = keyed(served.port, "/runs", "k", START).await.is(202);
    while calls(&script) < 1 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let full = keyed(served.port, "/runs", "other", START).await;
    full.problem(429, "too-many-runs");
    assert!(full.head.contains("retry-after:"), "{full:?}");
    let again = keyed(served.port, "/runs", "k", START).await.is(202);
    assert_eq!(run_of(&again), run_of(&first));
    assert_eq!(text(&again.json(), "status"), Some("running"));
    // The events of the one run are still open.
    let shown: Value = served.get(&format!("/runs/{}", run_of(&first))).await.is(200).json();
    assert_eq!(text(&shown, "status"), Some("running"), "{shown}");
}

#[tokio::test]
async fn a_keyed_start_that_a_kill_interrupted_is_answered_by_the_same_run() {
    let script = HostScript::new(&values(
        r#"[{"path": "/pay", "delay_ms": 60000, "json": {}}, {"path": "/pay", "json": {"ok": true}, "times": 9}]"#,
    ));
    let host = script.serve().await;
    let folder = project();
    folder.write("flows/caller.yaml", caller(host.port).replace("timeout_ms: 3000", "timeout_ms: 60000"));
    let served = Served::start(&folder, &[]).await;
    let first = run_of(&keyed(served.port, "/runs", "k", START).await.is(202));
    while calls(&script) < 1 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    drop(served); // Killed.
    let served = Served::start(&folder, &[]).await;
    let waited = keyed(served.port, "/runs?wait=true", "k", START).await.is(200);
    assert_eq!(run_of(&waited), first);
    assert_eq!(waited.json().pointer("/output/reply/ok"), Some(&true.into()), "{waited:?}");
    assert_eq!(calls(&script), 2, "one run, resumed once");
}
