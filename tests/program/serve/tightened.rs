//! Settings and secrets that change while runs wait: a resumed run is held to what the project says now.

use stave_canon::Value;

use super::client::Served;
use crate::folder::Folder;
use crate::json::{text, values};
use crate::process::stave;
use crate::scripted::Server;
use crate::scripted::host::HostScript;

const SETTINGS: &str = r#"[project]
tenant = "acme"
[http]
allow = ["127.0.0.1"]
[secrets]
folder = "secrets"
[secrets.TOKEN]
hosts = ["127.0.0.1"]
"#;

/// Asks a person, then calls a host twice, one call after the other, with a secret.
fn buyer(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: buyer}}
context: {{requires: [page]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: page, type: string}}]
    outputs: [{{name: page, type: string}}]
    transform: {{mode: declarative, spec: {{op: human.approve, args: {{message: "May I?"}}}}}}
  first:
    type: transform
    inputs: [{{name: page, type: string}}]
    outputs: [{{name: reply, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.get, args: {{url: "http://127.0.0.1:{port}/${{page}}", headers: {{x-key: "${{secrets.TOKEN}}"}}}}}}}}
    runtime: {{retries: 0}}
  second:
    type: transform
    inputs: [{{name: page, type: string}}, {{name: after, type: object}}]
    outputs: [{{name: reply, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.get, args: {{url: "http://127.0.0.1:{port}/${{page}}", headers: {{x-key: "${{secrets.TOKEN}}"}}}}}}}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.page, to: ask.page}}
  - {{from: ask.page, to: first.page}}
  - {{from: ask.page, to: second.page}}
  - {{from: first.reply, to: second.after}}
  - {{from: second.reply, to: _output.reply}}
"#
    )
}

async fn project() -> (Folder, std::sync::Arc<HostScript>, Server) {
    let script = HostScript::new(&values(
        r#"[{"method": "GET", "path": "/page", "json": {"ok": true}, "times": 99}]"#,
    ));
    let server = script.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", SETTINGS);
    folder.write("secrets/TOKEN", "the-first-token");
    folder.write("flows/buyer.yaml", buyer(server.port));
    (folder, script, server)
}

/// Starts a run that waits for a person.
async fn begin(served: &Served) -> String {
    let begun = served.post("/runs", r#"{"flow": "buyer", "input": {"page": "page"}}"#).await.is(202).json();
    let run = text(&begun, "run_id").expect("a run has an id").to_owned();
    assert!(served.get(&format!("/runs/{run}/events")).await.is(200).body.contains("event: waiting"));
    run
}

/// Approves, and says how the run ended.
async fn approve(served: &Served, run: &str) -> Value {
    served.post(&format!("/runs/{run}/nodes/ask/decision"), r#"{"approved": true}"#).await.is(202);
    assert!(served.get(&format!("/runs/{run}/events")).await.is(200).body.contains("event: ended"));
    served.get(&format!("/runs/{run}")).await.is(200).json()
}

#[tokio::test]
async fn a_waiting_run_is_held_to_labels_and_budgets_that_came_later() {
    for (setting, code, exit, calls) in [
        ("[labels.context]\npage = \"restricted\"\n", "sensitive-data-leak", 3, 0),
        ("[budget]\ncalls = 1\n", "budget-exceeded", 1, 1),
    ] {
        for by_command in [false, true] {
            let (folder, script, _server) = project().await;
            let mut served = Served::start(&folder, &["--state-dir", "state"]).await;
            let run = begin(&served).await;
            folder.write("stave.toml", format!("{SETTINGS}{setting}"));
            served.process.wait_for_stderr("serving ").await;
            let ended = if by_command {
                served.end().await;
                stave(&folder, ["runs", "approve", &run, "ask", "--state-dir", "state", "--json"])
                    .finish()
                    .await
                    .exits(exit);
                stave(&folder, ["runs", "show", &run, "--state-dir", "state", "--json"])
                    .finish()
                    .await
                    .exits(0)
                    .json()
            } else {
                approve(&served, &run).await
            };
            assert_eq!(ended.pointer("/error/code").and_then(Value::as_str), Some(code), "{ended}");
            assert_eq!(script.log.lock().calls.len(), calls, "{ended}");
        }
    }
}

#[tokio::test]
async fn a_replay_is_held_to_labels_that_came_later() {
    let (folder, script, _server) = project().await;
    let mut served = Served::start(&folder, &["--state-dir", "state"]).await;
    let run = begin(&served).await;
    let ended = approve(&served, &run).await;
    assert_eq!(text(&ended, "status"), Some("ok"), "{ended}");
    folder.write("stave.toml", format!("{SETTINGS}[labels.context]\npage = \"restricted\"\n"));
    served.process.wait_for_stderr("serving ").await;
    let replay = served.post(&format!("/runs/{run}/replay"), r#"{"node": "first"}"#).await.is(202).json();
    let replay = text(&replay, "run_id").expect("a replay has an id").to_owned();
    assert!(served.get(&format!("/runs/{replay}/events")).await.is(200).body.contains("event: ended"));
    let served_end = served.get(&format!("/runs/{replay}")).await.is(200).json();
    served.end().await;
    let command = ["runs", "replay", &run, "first", "--state-dir", "state", "--json"];
    let command_end = stave(&folder, command).finish().await.exits(3).json();
    for ended in [served_end, command_end] {
        let code = ended.pointer("/error/code").and_then(Value::as_str);
        assert_eq!(code, Some("sensitive-data-leak"), "{ended}");
    }
    assert_eq!(script.log.lock().calls.len(), 2, "only the first run called the host");
}

#[tokio::test]
async fn a_secret_that_is_replaced_is_sent_from_then_on() {
    let (folder, script, _server) = project().await;
    let mut served = Served::start(&folder, &[]).await;
    let first = begin(&served).await;
    approve(&served, &first).await;
    folder.write("secrets/TOKEN", "the-second-token");
    served.process.wait_for_stderr("serving ").await;
    let second = begin(&served).await;
    approve(&served, &second).await;
    let log = script.log.lock();
    let sent: Vec<&str> = log.calls.iter().filter_map(|call| call.headers["x-key"].to_str().ok()).collect();
    assert_eq!(sent, ["the-first-token", "the-first-token", "the-second-token", "the-second-token"]);
}

#[tokio::test]
async fn a_state_folder_of_another_tenant_is_refused_by_every_command() {
    let (folder, script, _server) = project().await;
    let served = Served::start(&folder, &["--state-dir", "state"]).await;
    let run = begin(&served).await;
    served.end().await;
    folder.write("globex/stave.toml", SETTINGS.replace("acme", "globex"));
    folder.write("globex/secrets/TOKEN", "globex-token");
    folder.write("globex/flows/buyer.yaml", folder.read("flows/buyer.yaml"));
    folder.write("globex/request.json", r#"{"page": "page"}"#);
    let commands: [&[&str]; 8] = [
        &["runs", "list"],
        &["runs", "show", &run],
        &["runs", "approve", &run, "ask"],
        &["runs", "resume", &run],
        &["runs", "cancel", &run],
        &["runs", "export", &run],
        &["runs", "gc"],
        &["run", "flows/buyer.yaml", "--input", "request.json"],
    ];
    for command in commands {
        let arguments = command.iter().copied().chain(["--state-dir", "../state"]);
        let finished = stave(&folder, arguments).inside(&folder, "globex").finish().await;
        assert!(
            finished.stderr.contains("does not belong to the project `globex/"),
            "{command:?}\n{finished}"
        );
        finished.exits(3);
    }
    assert!(script.log.lock().calls.is_empty());
    // The tenant itself can continue the run.
    stave(&folder, ["runs", "approve", &run, "ask", "--state-dir", "state"]).finish().await.exits(0);
    assert_eq!(script.log.lock().calls.len(), 2);
}
