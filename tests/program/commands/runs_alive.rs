//! Runs that other processes deal with: people who decide, cancellations, requests to end, and what is kept.

use std::time::Duration;

use stave_canon::Value;

use super::sample::{LOOPBACK, with_tool};
use crate::folder::Folder;
use crate::json::{items, text, values};
use crate::process::stave;
use crate::scripted::host::HostScript;
use crate::scripted::model::ModelScript;

const RUN: [&str; 5] = ["run", "flow.yaml", "--input", "request.json", "--json"];

fn project(flow: &str, request: &str) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", flow);
    folder.write("request.json", request);
    folder
}

/// Pays after a person agreed.
fn payment(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: payment}}
context: {{requires: [amount]}}
nodes:
  agree:
    type: transform
    inputs: [{{name: amount, type: number}}]
    outputs: [{{name: amount, type: number}}]
    error: {{name: denied}}
    transform:
      mode: declarative
      spec: {{op: human.approve, args: {{message: "Pay ${{amount}}?"}}}}
  pay:
    type: transform
    inputs: [{{name: amount, type: number}}]
    outputs: [{{name: receipt, type: object}}]
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/pay", body: "${{amount}}"}}}}
  sorry:
    type: transform
    inputs: [{{name: problem, type: object}}]
    outputs: [{{name: text, type: string}}]
    transform: {{mode: declarative, spec: {{op: io.format_response, args: {{template: "not paid"}}}}}}
edges:
  - {{from: _input.amount, to: agree.amount}}
  - {{from: agree.amount, to: pay.amount}}
  - {{from: agree.denied, to: sorry.problem}}
  - {{from: pay.receipt, to: _output.receipt}}
  - {{from: sorry.text, to: _output.text}}
"#
    )
}

fn host(entries: &str) -> std::sync::Arc<HostScript> {
    HostScript::new(&values(entries))
}

#[tokio::test]
async fn an_approval_in_a_flow_waits_over_processes_and_pays_once() {
    let script = host(r#"[{"method": "POST", "path": "/pay", "json": {"paid": true}}]"#);
    let server = script.serve().await;
    let folder = project(&payment(server.port), r#"{"amount": 12}"#);
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    assert_eq!(waiting.pointer("/error/kind").and_then(Value::as_str), Some("waiting"), "{waiting}");
    let reason = waiting.pointer("/nodes/agree/reason").and_then(Value::as_str).unwrap();
    assert!(reason.contains("Pay 12?"), "{reason}");
    let run = text(&waiting, "run_id").unwrap();
    assert_eq!(script.log.lock().calls.len(), 0);
    let approved = stave(&folder, ["runs", "approve", run, "agree", "--json"]).finish().await.exits(0).json();
    assert_eq!(approved.pointer("/output/receipt/paid"), Some(&Value::Bool(true)), "{approved}");
    assert_eq!(script.log.lock().calls.len(), 1);
    stave(&folder, ["runs", "approve", run, "agree"]).finish().await.exits(2);
}

#[tokio::test]
async fn a_denial_takes_the_error_route() {
    let script = host("[]");
    let server = script.serve().await;
    let folder = project(&payment(server.port), r#"{"amount": 12}"#);
    let waiting = stave(&folder, RUN).finish().await.exits(1).json();
    let run = text(&waiting, "run_id").unwrap();
    let arguments = ["runs", "approve", run, "agree", "--deny", "--comment", "too much", "--json"];
    let denied = stave(&folder, arguments).finish().await.exits(0).json();
    assert_eq!(denied.pointer("/output/text").and_then(Value::as_str), Some("not paid"), "{denied}");
    assert_eq!(script.log.lock().calls.len(), 0);
}

/// Waits for a host, and then would post somewhere.
fn slow(port: u16, op: &str) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: slow}}
context: {{requires: [n]}}
nodes:
  first:
    type: transform
    inputs: [{{name: n, type: number}}]
    outputs: [{{name: r, type: object}}]
    transform: {{mode: declarative, spec: {{op: {op}, args: {{url: "http://127.0.0.1:{port}/slow"}}}}}}
    runtime: {{retries: 0}}
  second:
    type: transform
    inputs: [{{name: r, type: object}}]
    outputs: [{{name: r, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/second"}}}}}}
edges:
  - {{from: _input.n, to: first.n}}
  - {{from: first.r, to: second.r}}
  - {{from: second.r, to: _output}}
"#
    )
}

/// Waits until the only run is being worked on and its host was asked.
async fn under_way(folder: &Folder, script: &HostScript) -> String {
    for _ in 0..600 {
        let called = !script.log.lock().calls.is_empty();
        let listed = stave(folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
        if let (Some(run), true) = (items(&listed, "runs").first(), called) {
            return text(run, "run_id").unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no run began");
}

#[tokio::test]
async fn another_process_cancels_a_run_at_work_and_an_effect_is_let_finish() {
    for (op, method) in [("http.get", "GET"), ("http.post", "POST")] {
        let entry = format!(r#"[{{"method": "{method}", "path": "/slow", "json": {{}}, "delay_ms": 4000}}]"#);
        let script = host(&entry);
        let server = script.serve().await;
        let folder = project(&slow(server.port, op), r#"{"n": 1}"#);
        let running = stave(&folder, RUN).finish();
        let cancelling = async {
            let run = under_way(&folder, &script).await;
            stave(&folder, ["runs", "cancel", &run, "--json"]).finish().await.exits(0);
            run
        };
        let (ended, run) = tokio::join!(running, cancelling);
        let report = ended.exits(1).json();
        assert_eq!(report.pointer("/error/kind").and_then(Value::as_str), Some("cancelled"), "{report}");
        assert_eq!(script.log.lock().calls.len(), 1, "the second step did not start");
        let shown = stave(&folder, ["runs", "show", &run, "--json"]).finish().await.exits(0).json();
        assert_eq!(
            shown.get("run_status").or(shown.get("status")).and_then(Value::as_str),
            Some("cancelled"),
            "{shown}"
        );
        let first = report.pointer("/nodes/first/status").and_then(Value::as_str);
        let wanted = if op == "http.post" { "ok" } else { "cancelled" };
        assert_eq!(first, Some(wanted), "{report}");
        stave(&folder, ["runs", "resume", &run]).finish().await.exits(2);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_that_is_asked_to_end_finishes_the_effect_and_leaves_the_run_to_be_resumed() {
    let script = host(
        r#"[{"method": "POST", "path": "/slow", "json": {}, "delay_ms": 1500},
            {"method": "POST", "path": "/second", "json": {"done": true}}]"#,
    );
    let server = script.serve().await;
    let folder = project(&slow(server.port, "http.post"), r#"{"n": 1}"#);
    let (process, ended) = stave(&folder, RUN).with_id();
    let asking = async {
        let run = under_way(&folder, &script).await;
        process.terminate();
        run
    };
    let (ended, run) = tokio::join!(ended, asking);
    let report = ended.exits(1).json();
    assert_eq!(report.pointer("/error/kind").and_then(Value::as_str), Some("interrupted"), "{report}");
    let resumed = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(0).json();
    assert_eq!(resumed.pointer("/output/done"), Some(&Value::Bool(true)), "{resumed}");
    assert_eq!(script.log.lock().calls.len(), 2, "the effect was not repeated");
}

#[tokio::test]
async fn a_run_killed_in_a_tool_loop_asks_no_question_and_runs_no_tool_twice() {
    let model = ModelScript::new(&values(
        r#"[{"tool_calls": [{"name": "look", "arguments": {"q": "a"}}]},
                {"tool_calls": [{"name": "look", "arguments": {"q": "b"}}]},
                {"content": "done", "delay_ms": 3000},
                {"content": "done after all"}]"#,
    ));
    let model_server = model.serve().await;
    let script = host(r#"[{"path": "/look", "json": {"found": 1}, "times": 9}]"#);
    let server = script.serve().await;
    let look = format!(
        "    outputs: [{{name: r, type: object}}]\n    \
         transform: {{mode: declarative, spec: {{op: http.get, args: {{url: \"http://127.0.0.1:{}/look\"}}}}}}",
        server.port
    );
    let flow = with_tool(model_server.port, &look);
    let folder = project(&flow, r#"{"q": "where?"}"#);
    let third = async {
        while model.log.lock().calls.len() < 3 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    stave(&folder, RUN).killed_at(third).await.expect("it was killed while the model thought");
    let listed = stave(&folder, ["runs", "list", "--status", "interrupted", "--json"]).finish().await;
    let listed = listed.exits(0).json();
    let run = text(items(&listed, "runs").first().unwrap(), "run_id").unwrap().to_owned();
    let resumed = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(0).json();
    assert_eq!(resumed.pointer("/output/a").and_then(Value::as_str), Some("done after all"), "{resumed}");
    assert_eq!(script.log.lock().calls.len(), 2, "each tool call ran once");
    assert_eq!(model.log.lock().calls.len(), 4, "only the unanswered question was asked again");
    assert_eq!(resumed.pointer("/nodes/ask/calls").and_then(Value::as_i64), Some(3), "{resumed}");
}

#[tokio::test]
async fn the_project_says_how_long_and_how_much_of_runs_is_kept() {
    let flow = r#"version: "1.0"
metadata: {name: echo}
context: {requires: [text]}
nodes:
  echo:
    type: transform
    inputs: [{name: text, type: string}]
    outputs: [{name: text, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "${text}"}}}
edges:
  - {from: _input.text, to: echo.text}
  - {from: echo.text, to: _output.text}
"#;
    let folder = project(flow, r#"{"text": "short"}"#);
    let count = async || {
        let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
        items(&listed, "runs").len()
    };
    for _ in 0..4 {
        stave(&folder, RUN).finish().await.exits(0);
    }
    assert_eq!(count().await, 4);
    // Everything is too much, and two runs are kept whatever the size; the third is the one that has just run.
    folder.write("stave.toml", "[journal]\nmax_bytes = 1\nkeep_runs = 2\n");
    stave(&folder, RUN).finish().await.exits(0);
    assert_eq!(count().await, 3);
    stave(&folder, ["runs", "gc"]).finish().await.exits(0);
    assert_eq!(count().await, 2);
    folder.write("stave.toml", "[journal]\nrecord_bytes = 200\n");
    folder.write("request.json", format!(r#"{{"text": "{}"}}"#, "x".repeat(100)));
    let large = stave(&folder, RUN).finish().await;
    assert_ne!(large.code, 0, "{large}");
    let wrong = "[journal]\nkeep_days = 0\n";
    folder.write("stave.toml", wrong);
    let refused = stave(&folder, ["check", "stave.toml"]).finish().await.exits(2);
    assert!(refused.stderr.contains("keep_days") || refused.stdout.contains("keep_days"), "{refused}");
}

#[tokio::test]
async fn events_are_lines_of_json_and_the_last_one_holds_the_report() {
    let folder = project(super::sample::DOUBLE, r#"{"n": 4}"#);
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "request.json", "--events"]).finish().await;
    let lines: Vec<Value> =
        finished.clone().exits(0).stdout.lines().map(|line| stave_canon::parse(line).unwrap()).collect();
    let told: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {}", text(line, "event").unwrap(), text(line, "node").unwrap_or_default()))
        .filter(|told| !told.contains(" _"))
        .collect();
    assert_eq!(
        told,
        [
            "run_started ",
            "node_started double",
            "node_ended double",
            "node_started show",
            "node_ended show",
            "run_ended "
        ]
    );
    let report = lines.last().unwrap().get("report").unwrap();
    assert_eq!(report.pointer("/output/text").and_then(Value::as_str), Some("twice is 8"), "{report}");
}
