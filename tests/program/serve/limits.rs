//! Bounds, and an orderly end.

use std::sync::Arc;
use std::time::Duration;

use super::client::{Served, ask};
use super::sample::{caller, project};
use crate::json::text;
use crate::process::stave;
use crate::scripted::Server;
use crate::scripted::host::HostScript;

/// A host that takes its time, and its script, which knows who has called.
async fn slow_host(milliseconds: u32) -> (Server, Arc<HostScript>) {
    let page = format!(
        r#"{{"method": "GET", "path": "/slow", "delay_ms": {milliseconds}, "json": {{"ok": true}}, "times": 9}}"#
    );
    let script = HostScript::new(&[stave_canon::parse(&page).unwrap()]);
    (script.serve().await, script)
}

/// Waits until the host was called.
async fn called(script: &HostScript) {
    while script.log.lock().calls.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn bodies_times_and_numbers_are_bounded() {
    let folder = project();
    let (server, script) = slow_host(20_000).await;
    folder.write("flows/caller.yaml", caller(server.port));
    let bounds = ["--max-body", "1000", "--max-runs", "1", "--max-waiting", "0", "--request-seconds", "1"];
    let served = Served::start(&folder, &bounds).await;
    let large = format!(r#"{{"query": "{}"}}"#, "x".repeat(2000));
    served.post("/v1/models/echo:predict", &large).await.problem(413, "body-too-large");

    let port = served.port;
    let slow = tokio::spawn(async move {
        let headers = [("content-type", "application/json")];
        ask(port, "POST", "/v1/models/caller:predict", &headers, None, Some(r#"{"page": "slow"}"#)).await
    });
    called(&script).await;
    let refused = served.post("/v1/models/echo:predict", r#"{"query": "a"}"#).await;
    refused.problem(429, "too-many-runs");
    assert!(refused.head.contains("retry-after: 1"), "{refused:?}");
    let late = slow.await.unwrap();
    let problem = late.problem(504, "request-timeout");
    assert!(text(&problem, "trace_id").is_some(), "{problem}");
    // Tools over HTTP are behind the same bounds.
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let call = |flow: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{flow}","arguments":{arguments}}}}}"#
        )
    };
    let answer = served.ask("POST", "/mcp", &headers, Some(&call("echo", &large))).await;
    answer.problem(413, "body-too-large");
    let refused = served.ask("POST", "/mcp", &headers, Some(&call("echo", r#"{"query": "a"}"#))).await;
    assert!(refused.body.contains("too-many-runs"), "{refused:?}");
    // The health of a server that is full is fine.
    served.get("/v2/health/ready").await.is(200);
    let folder = project();
    folder.write("flows/caller.yaml", caller(server.port));
    let served = Served::start(&folder, &["--request-seconds", "1"]).await;
    let late = served.ask("POST", "/mcp", &headers, Some(&call("caller", r#"{"page": "slow"}"#))).await;
    assert!(late.body.contains("request-timeout"), "{late:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_is_asked_to_end_lets_its_runs_end() {
    let folder = project();
    let (server, script) = slow_host(1500).await;
    folder.write("flows/caller.yaml", caller(server.port));
    let served = Served::start(&folder, &[]).await;
    let port = served.port;
    let slow = tokio::spawn(async move {
        let headers = [("content-type", "application/json")];
        ask(port, "POST", "/v1/models/caller:predict", &headers, None, Some(r#"{"page": "slow"}"#)).await
    });
    called(&script).await;
    let ended = served.end().await.exits(0);
    assert!(ended.stderr.contains("shutting down"), "{ended}");
    let answer = slow.await.unwrap().is(200);
    assert_eq!(answer.json().pointer("/reply/ok"), Some(&true.into()), "{answer:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_second_signal_ends_the_server_at_once_and_its_runs_are_recorded_as_interrupted() {
    let folder = project();
    let (server, script) = slow_host(60_000).await;
    folder.write("flows/caller.yaml", caller(server.port).replace("timeout_ms: 3000", "timeout_ms: 60000"));
    let mut served = Served::start(&folder, &[]).await;
    let begun = served.post("/runs", r#"{"flow": "caller", "input": {"page": "slow"}}"#).await.is(202).json();
    let run = text(&begun, "run_id").unwrap().to_owned();
    called(&script).await;
    served.process.terminate();
    served.process.wait_for_stderr("shutting down").await;
    let ended = served.end().await.exits(1);
    assert!(ended.stderr.contains("asked to end again"), "{}", ended.stderr);
    // Given back by the server itself, so that the run is not taken for one that brought it down.
    let database = rusqlite::Connection::open(folder.path().join(".stave/stave.sqlite")).unwrap();
    let row = database.query_row("SELECT status, crashes FROM run WHERE id = ?1", [&run], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    });
    assert_eq!(row.unwrap(), ("interrupted".to_owned(), 0));
}

#[cfg(unix)]
#[tokio::test]
async fn a_run_that_takes_too_long_at_the_end_is_left_to_be_resumed() {
    let folder = project();
    let (server, _script) = slow_host(2500).await;
    folder.write("flows/caller.yaml", caller(server.port));
    let served = Served::start(&folder, &["--drain-seconds", "0"]).await;
    let begun = served.post("/runs", r#"{"flow": "caller", "input": {"page": "slow"}}"#).await.is(202).json();
    let run = text(&begun, "run_id").unwrap().to_owned();
    served.end().await.exits(0);
    let served = Served::start(&folder, &["--no-resume"]).await;
    let shown = served.get(&format!("/runs/{run}")).await.is(200).json();
    assert_eq!(text(&shown, "status"), Some("interrupted"), "{shown}");
}

#[tokio::test]
async fn a_request_that_the_journal_does_not_keep_is_too_large() {
    let folder = project();
    folder.write("stave.toml", "[journal]\nrecord_bytes = 2000\n");
    let request = format!(r#"{{"query": "{}"}}"#, "x".repeat(3000));
    let run = stave(&folder, ["run", "flows/echo.yaml", "--input", "-"]).input(&request).finish().await;
    let run = run.exits(2);
    assert!(run.stderr.contains("the request takes") && run.stderr.contains("record_bytes"), "{run}");
    assert!(!run.stderr.contains("runs resume"), "there is no run to resume: {run}");
    let served = Served::start(&folder, &[]).await;
    let body = format!(r#"{{"flow": "echo", "input": {request}}}"#);
    served.post("/runs", &body).await.problem(413, "request-too-large");
    served.post("/v1/models/echo:predict", &request).await.problem(413, "request-too-large");
}

#[tokio::test]
async fn a_short_body_of_very_many_values_is_refused() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let many = vec![r#"{"":0}"#; 300_000].join(",");
    let body = format!(r#"{{"query": [{many}]}}"#);
    for path in ["/v1/models/echo:predict", "/runs", "/v2/models/echo/infer"] {
        served.post(path, &body).await.problem(413, "body-too-large");
    }
    let numbers = vec!["0.5"; 500_000].join(",");
    let body = format!(r#"{{"query": "hi", "rest": [{numbers}]}}"#);
    served.post("/v1/models/echo:predict", &body).await.is(200);
}
