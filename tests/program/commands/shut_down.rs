//! A process that is asked to end: it lets effects finish that have begun, wherever they are, and begins nothing else.

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

/// Runs until a host was asked, asks the process to end, and gives the id of the run that it left.
async fn interrupted(folder: &Folder, script: &HostScript) -> String {
    let (process, ended) = stave(folder, RUN).with_id();
    let asking = async {
        while script.log.lock().calls.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        process.terminate();
    };
    let (ended, ()) = tokio::join!(ended, asking);
    let report = ended.exits(1).json();
    assert_eq!(report.pointer("/error/kind").and_then(Value::as_str), Some("interrupted"), "{report}");
    let listed = stave(folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
    text(items(&listed, "runs").first().unwrap(), "run_id").unwrap().to_owned()
}

#[cfg(unix)]
#[tokio::test]
async fn a_post_for_an_item_of_a_list_is_let_finish_and_sent_once() {
    let script = HostScript::new(&values(
        r#"[{"method": "POST", "path": "/p", "json": {}, "delay_ms": 1200, "times": 99}]"#,
    ));
    let server = script.serve().await;
    let flow = format!(
        r#"version: "1.0"
metadata: {{name: batch}}
context: {{requires: [ns]}}
nodes:
  post:
    type: transform
    inputs: [{{name: n, type: number}}]
    outputs: [{{name: r, type: object}}]
    runtime: {{retries: 0}}
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{}/p", body: "${{n}}"}}}}
  all:
    type: transform
    inputs: [{{name: ns, type: array}}]
    outputs: [{{name: results, type: array}}]
    transform:
      mode: declarative
      spec: {{op: transform.each, args: {{input: "${{ns}}", node: post, parallel: 2}}}}
edges:
  - {{from: _input.ns, to: all.ns}}
  - {{from: all.results, to: _output}}
"#,
        server.port
    );
    let folder = project(&flow, r#"{"ns": [1, 2, 3, 4, 5]}"#);
    let run = interrupted(&folder, &script).await;
    assert!(script.log.lock().calls.len() <= 2, "nothing further began");
    stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(0);
    let mut bodies: Vec<String> =
        script.log.lock().calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned()).collect();
    bodies.sort();
    assert_eq!(bodies, ["1", "2", "3", "4", "5"], "each was sent once");
}

#[cfg(unix)]
#[tokio::test]
async fn a_post_that_a_model_called_is_let_finish_and_sent_once() {
    let model = ModelScript::new(&values(
        r#"[{"tool_calls": [{"name": "look", "arguments": {"q": "a"}}]}, {"content": "done"}]"#,
    ));
    let model_server = model.serve().await;
    let script = HostScript::new(&values(
        r#"[{"method": "POST", "path": "/p", "json": {}, "delay_ms": 1200, "times": 9}]"#,
    ));
    let server = script.serve().await;
    let post = format!(
        "    outputs: [{{name: r, type: object}}]\n    runtime: {{retries: 0}}\n    \
         transform: {{mode: declarative, spec: {{op: http.post, args: {{url: \"http://127.0.0.1:{}/p\"}}}}}}",
        server.port
    );
    let folder = project(&with_tool(model_server.port, &post), r#"{"q": "x"}"#);
    let run = interrupted(&folder, &script).await;
    assert_eq!(model.log.lock().calls.len(), 1, "the model was not asked again");
    stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(0);
    assert_eq!(script.log.lock().calls.len(), 1, "the effect was not repeated");
    assert_eq!(model.log.lock().calls.len(), 2);
}

#[tokio::test]
async fn the_round_of_tool_calls_that_is_one_too_many_has_no_effect() {
    let turns: Vec<String> = (0..12)
        .map(|n| format!(r#"{{"tool_calls": [{{"name": "look", "arguments": {{"q": "{n}"}}}}]}}"#))
        .collect();
    let model = ModelScript::new(&values(&format!("[{}]", turns.join(","))));
    let model_server = model.serve().await;
    let script = HostScript::new(&values(r#"[{"method": "POST", "path": "/p", "json": {}, "times": 99}]"#));
    let server = script.serve().await;
    let post = format!(
        "    outputs: [{{name: r, type: object}}]\n    runtime: {{retries: 0}}\n    \
         transform: {{mode: declarative, spec: {{op: http.post, args: {{url: \"http://127.0.0.1:{}/p\"}}}}}}",
        server.port
    );
    let folder = project(&with_tool(model_server.port, &post), r#"{"q": "x"}"#);
    let failed = stave(&folder, RUN).finish().await.exits(1).json();
    assert_eq!(failed.pointer("/error/code").and_then(Value::as_str), Some("endless-tool-calls"), "{failed}");
    assert_eq!(script.log.lock().calls.len(), 8, "eight rounds are allowed");
}

#[tokio::test]
async fn a_budget_of_calls_holds_over_a_kill_in_the_middle_of_a_list() {
    let script = HostScript::new(&values(
        r#"[{"method": "POST", "path": "/p", "json": {}, "delay_ms": 300, "times": 99}]"#,
    ));
    let server = script.serve().await;
    let flow = format!(
        r#"version: "1.0"
metadata: {{name: batch}}
context: {{requires: [ns]}}
runtime: {{budget: {{calls: 3}}}}
nodes:
  post:
    type: transform
    inputs: [{{name: n, type: number}}]
    outputs: [{{name: r, type: object}}]
    runtime: {{retries: 0}}
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{}/p", body: "${{n}}"}}}}
  all:
    type: transform
    inputs: [{{name: ns, type: array}}]
    outputs: [{{name: results, type: array}}]
    transform:
      mode: declarative
      spec: {{op: transform.each, args: {{input: "${{ns}}", node: post, parallel: 1}}}}
edges:
  - {{from: _input.ns, to: all.ns}}
  - {{from: all.results, to: _output}}
"#,
        server.port
    );
    for kill_at in 1..=3 {
        script.log.lock().calls.clear();
        let folder = project(&flow, r#"{"ns": [1, 2, 3, 4, 5, 6]}"#);
        let called = async {
            while script.log.lock().calls.len() < kill_at {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        stave(&folder, RUN).killed_at(called).await.expect("it was killed at a call");
        let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
        let run = text(items(&listed, "runs").first().unwrap(), "run_id").unwrap().to_owned();
        let resumed = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.json();
        assert_eq!(
            resumed.pointer("/error/code").and_then(Value::as_str),
            Some("budget-exceeded"),
            "{resumed}"
        );
        assert_eq!(script.log.lock().calls.len(), 3, "killed at call {kill_at}: {resumed}");
    }
}

/// Six steps that begin together, or the same as items of a list.
fn parallel_posts(port: u16, is_list: bool) -> String {
    let step = |name: &str| {
        format!(
            r#"  {name}:
    type: transform
    inputs: [{{name: n, type: number}}]
    outputs: [{{name: r, type: object}}]
    runtime: {{retries: 0}}
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/p", body: "${{n}}"}}}}
"#
        )
    };
    let names = ["a", "b", "c", "d", "e", "f"];
    let (nodes, edges) = if is_list {
        let each = r#"  all:
    type: transform
    inputs: [{name: ns, type: array}]
    outputs: [{name: results, type: array}]
    transform:
      mode: declarative
      spec: {op: transform.each, args: {input: "${ns}", node: a, parallel: 6}}
"#;
        (
            step("a") + each,
            "  - {from: _input.ns, to: all.ns}\n  - {from: all.results, to: _output}\n".to_owned(),
        )
    } else {
        let edge = |name: &str| {
            format!("  - {{from: _input.n, to: {name}.n}}\n  - {{from: {name}.r, to: _output.{name}}}\n")
        };
        (names.map(step).concat(), names.map(edge).concat())
    };
    let requires = if is_list { "ns" } else { "n" };
    format!(
        "version: \"1.0\"\nmetadata: {{name: batch}}\ncontext: {{requires: [{requires}]}}\nruntime: {{budget: {{calls: 3}}}}\nnodes:\n{nodes}edges:\n{edges}"
    )
}

#[tokio::test]
async fn steps_that_run_together_never_exceed_a_budget_of_calls_also_after_a_kill() {
    let script = HostScript::new(&values(
        r#"[{"method": "POST", "path": "/p", "json": {}, "delay_ms": 300, "times": 99}]"#,
    ));
    let server = script.serve().await;
    for (is_list, request) in [(false, r#"{"n": 1}"#), (true, r#"{"ns": [1, 2, 3, 4, 5, 6]}"#)] {
        let flow = parallel_posts(server.port, is_list);
        let folder = project(&flow, request);
        script.log.lock().calls.clear();
        let failed = stave(&folder, RUN).finish().await.exits(1).json();
        let code = |report: &Value| report.pointer("/error/code").and_then(Value::as_str).map(str::to_owned);
        assert_eq!(code(&failed).as_deref(), Some("budget-exceeded"), "{failed}");
        assert!(script.log.lock().calls.len() <= 3, "{failed}");
        for kill_at in 1..=3 {
            script.log.lock().calls.clear();
            let folder = project(&flow, request);
            let called = async {
                while script.log.lock().calls.len() < kill_at {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            // A run that ended before the kill kept to its budget as well.
            stave(&folder, RUN).killed_at(called).await;
            let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
            let run = text(items(&listed, "runs").first().unwrap(), "run_id").unwrap().to_owned();
            let resumed = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await;
            let calls = script.log.lock().calls.len();
            assert!(calls <= 3, "{calls} calls, killed at call {kill_at}: {resumed}");
        }
    }
}
