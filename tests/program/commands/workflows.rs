//! Workflows run: from their source and from their document, with the same result, durably.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::scripted::{Call, Reply, Server, serve};

const POLICY: &str = "\
version: pdl/v0
arms:
  default:
    threshold: 75.0
    action: cool
evaluate:
  temperature = first_numeric(values)
  if temperature >= arms.active.threshold:
    action = arms.active.action
  else:
    action = \"none\"
emit:
  action: action
  temperature: temperature
";

/// Reads, decides, acts when the decision says so, and reports.
fn workflow(port: u16) -> String {
    format!(
        "\
version: dsl/v0
workflow: plant.monitor
inputs:
  place: string
steps:
  - read(http.post):
      url: http://127.0.0.1:{port}/read
      body: $input.place
  - decide(policy.apply):
      values: $step.read.body.values
  - when $step.decide.action in [\"cool\", \"stop\"]:
      - act(http.post) timeout_ms=5000 retry=2 backoff_ms=1:
          url: http://127.0.0.1:{port}/act
          body:
            action: $step.decide.action
  - report(http.post):
      url: http://127.0.0.1:{port}/report
outputs:
  decision: $step.decide
  reported: $step.report.status
"
    )
}

/// The calls that the plant saw, by path.
#[derive(Debug, Clone, Default)]
struct Plant(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Plant {
    /// A plant that is hot, or one that is not. Its answers take a moment.
    async fn serve(&self, temperature: &'static str) -> Server {
        let plant = self.clone();
        serve(move |call: Call| {
            let plant = plant.clone();
            async move {
                let path = call.address.path().to_owned();
                {
                    let mut seen = plant.0.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.entry(path.clone())
                        .or_default()
                        .push(String::from_utf8_lossy(&call.body).into_owned());
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
                match path.as_str() {
                    "/read" => Reply::json(200, format!("{{\"values\": {{\"oven\": {temperature}}}}}")),
                    _ => Reply::json(200, "{}".to_owned()),
                }
            }
        })
        .await
    }

    fn calls(&self, path: &str) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned().unwrap_or_default()
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().map(Vec::len).sum()
    }
}

fn project(port: u16) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("plant.wdl", workflow(port));
    folder.write("plant.pdl", POLICY);
    folder.write("request.json", r#"{"place": "hall 3"}"#);
    folder
}

const RUN: [&str; 5] = ["run", "plant.wdl", "--input", "request.json", "--json"];

#[tokio::test]
async fn a_branch_runs_when_its_case_is_taken_and_not_otherwise() {
    for (temperature, action, acts) in [("82.5", "cool", 1), ("20", "none", 0)] {
        let plant = Plant::default();
        let server = plant.serve(temperature).await;
        let folder = project(server.port);
        let report = stave(&folder, RUN).finish().await.exits(0).json();
        assert_eq!(text(report.pointer("/output/decision").unwrap(), "action"), Some(action), "{report}");
        assert_eq!(report.pointer("/output/reported").and_then(Value::as_i64), Some(200), "{report}");
        assert_eq!(plant.calls("/read"), ["hall 3"]);
        assert_eq!(plant.calls("/act").len(), acts, "{report}");
        assert_eq!(plant.calls("/report").len(), 1);
        let status = text(report.pointer("/nodes/act").unwrap(), "status");
        assert_eq!(status, Some(if acts == 1 { "ok" } else { "skipped" }));
        if acts == 1 {
            assert_eq!(plant.calls("/act"), [r#"{"action":"cool"}"#]);
        }
    }
}

#[tokio::test]
async fn the_document_runs_as_the_workflow_does() {
    let plant = Plant::default();
    let server = plant.serve("99").await;
    let folder = project(server.port);
    let wanted = stave(&folder, RUN).finish().await.exits(0).json();
    let compile = ["compile", "plant.wdl", "--out", "out", "--emit", "exec"];
    stave(&folder, compile).finish().await.exits(0);
    std::fs::remove_file(folder.path().join("plant.wdl")).unwrap();
    std::fs::remove_file(folder.path().join("plant.pdl")).unwrap();
    let document = "out/flows/plant.monitor.ir.json";
    let run = ["run", document, "--input", "request.json", "--json"];
    let found = stave(&folder, run).finish().await.exits(0).json();
    assert_eq!(found.get("output"), wanted.get("output"));
}

#[tokio::test]
async fn a_run_leads_back_to_the_lines_of_the_workflow() {
    let plant = Plant::default();
    let server = plant.serve("20").await;
    let folder = project(server.port);
    let report = stave(&folder, RUN).finish().await.exits(0).json();
    let run = text(&report, "run_id").unwrap();
    let why = stave(&folder, ["why", run]).finish().await.exits(0);
    assert!(why.stdout.contains("act skipped"), "{why}");
    assert!(why.stdout.contains("`when_0` took the case \"_DEFAULT\""), "{why}");
    assert!(why.stdout.contains("plant.wdl:12:9"), "{why}");
    let why = stave(&folder, ["why", run, "report"]).finish().await.exits(0);
    assert!(why.stdout.contains("when_0 was taken") && why.stdout.contains("act was not taken"), "{why}");
}

#[tokio::test]
async fn a_killed_workflow_is_resumed_and_repeats_nothing_that_was_finished() {
    let mut interrupted = 0;
    for kill in 0..8_usize {
        let plant = Plant::default();
        let server = plant.serve("99").await;
        let folder = project(server.port);
        let moment = async {
            while plant.count() < kill % 4 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(3 + 9 * (kill as u64 / 4))).await;
        };
        if stave(&folder, RUN).killed_at(moment).await.is_none() {
            continue;
        }
        let listed = stave(&folder, ["runs", "list", "--json"]).finish().await;
        if listed.code != 0 {
            // It was killed before it had written anything.
            continue;
        }
        let listed = listed.json();
        let runs = items(&listed, "runs");
        let Some(run) = runs.iter().find(|run| text(run, "status") == Some("interrupted")) else { continue };
        interrupted += 1;
        let id = text(run, "run_id").unwrap();
        let shown = stave(&folder, ["runs", "show", id, "--json"]).finish().await.exits(0).json();
        let finished: Vec<String> =
            shown.get("outputs").and_then(Value::as_object).unwrap().keys().cloned().collect();
        let report = stave(&folder, ["runs", "resume", id, "--json"]).finish().await.exits(0).json();
        assert_eq!(
            report.pointer("/output/decision/action").and_then(Value::as_str),
            Some("cool"),
            "{report}"
        );
        for (step, path) in [("read", "/read"), ("act", "/act"), ("report", "/report")] {
            let calls = plant.calls(path).len();
            let may_repeat = !finished.contains(&step.to_owned());
            assert!(calls == 1 || (calls == 2 && may_repeat), "{step}: {calls} calls, finished {finished:?}");
        }
    }
    assert!(interrupted >= 2, "only {interrupted} kills came in the middle of a run");
}

#[tokio::test]
async fn what_is_wrong_with_a_workflow_or_its_policy_stops_the_run() {
    let folder = project(1);
    folder.write("plant.pdl", POLICY.replace("first_numeric(values)", "open(values)"));
    let refused = stave(&folder, RUN).finish().await.exits(2).json();
    assert_eq!(text(&items(&refused, "diagnostics")[0], "code"), Some("pdl-bad-expression"), "{refused}");
    folder.write("plant.wdl", workflow(1).replace("$step.decide.action in", "$step.decode.action in"));
    let refused = stave(&folder, RUN).finish().await.exits(2).json();
    assert_eq!(text(&items(&refused, "diagnostics")[0], "code"), Some("wdl-unknown-step-ref"), "{refused}");
    let refused = stave(&folder, ["run", "plant.pdl"]).finish().await.exits(2);
    assert!(refused.stderr.contains("is a policy"), "{refused}");
    folder.write("alone.wdl", "version: 1\nworkflow: a\nsteps:\n  - a(opcua.browse):\n");
    let refused = stave(&folder, ["run", "alone.wdl", "--json"]).finish().await.exits(2).json();
    assert_eq!(text(&items(&refused, "diagnostics")[0], "code"), Some("unknown-step-kind"), "{refused}");
    folder.write("stave.toml", "[runtime]\nstep_kinds = [\"opcua.browse\"]\n");
    let refused = stave(&folder, ["run", "alone.wdl", "--json"]).finish().await.exits(3).json();
    assert_eq!(
        refused.pointer("/error/code").and_then(Value::as_str),
        Some("unknown-step-kind"),
        "{refused}"
    );
    assert_eq!(refused.pointer("/error/line").and_then(Value::as_i64), Some(4), "{refused}");
}

#[tokio::test]
async fn a_failure_edge_of_a_document_is_taken() {
    let folder = Folder::new();
    let node = |id: &str, kind: &str, with: &str| {
        format!(
            r#"{{"id": "{id}", "type": "{kind}", "with": {with}, "timeout_ms": 0, "retry": {{"max": 0, "backoff_ms": 0}}}}"#
        )
    };
    let nodes = [
        node("call", "http.get", r#"{"url": "http://127.0.0.1:1/"}"#),
        node("good", "dsl.emit", r#"{"ok": true}"#),
        node("bad", "dsl.emit", r#"{"ok": false, "why": "$step.call.error.code"}"#),
        node("end", "finish", "{}"),
    ]
    .join(",");
    let edges = r#"{"from": "call", "to": "good", "on": "success"}, {"from": "call", "to": "bad", "on": "failure"},
                   {"from": "good", "to": "end", "on": "success"}, {"from": "bad", "to": "end", "on": "success"}"#;
    let document = format!(
        r#"{{"version": "1.0.0", "flow": {{"name": "f", "timeout_ms": 0}}, "inputs_schema": {{}},
            "constants": {{"policyRef": "none", "policy": {{}}}}, "graph": {{"nodes": [{nodes}], "edges": [{edges}]}},
            "metadata": {{"generated_at": "2024-06-30T18:25:43Z", "source_file": "f.json"}}}}"#
    );
    folder.write("f.ir.json", document);
    folder.write("stave.toml", LOOPBACK);
    let report = stave(&folder, ["run", "f.ir.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(report.get("output").map(Value::to_string).unwrap(), r#"{"ok":false,"why":"http-failed"}"#);
}

#[tokio::test]
async fn a_step_that_waits_for_itself_is_no_success() {
    let folder = Folder::new();
    folder.write(
        "lists.wdl",
        "\
version: dsl/v0
workflow: lists
inputs:
  site: object
steps:
  - one(transform.each):
      input: $input.site.items
      node: two
      port: input
  - two(transform.map):
      input: $input.site.other
      spec: {a: \"1\"}
outputs:
  result: $step.one
",
    );
    let checked = stave(&folder, ["check", "--format", "short", "lists.wdl"]).finish().await.exits(2);
    assert!(checked.stdout.starts_with("lists.wdl:8:7: error[wdl-step-cycle]"), "{checked}");
    assert!(checked.stdout.contains("`one` → `two` → `one`"), "{checked}");
    for request in [r#"{"site": {}}"#, r#"{"site": {"items": [1]}}"#] {
        let run = stave(&folder, ["run", "lists.wdl", "--input", "-", "--json", "--ephemeral"]);
        let finished = run.input(request).finish().await.exits(2);
        assert!(finished.to_string().contains("wdl-step-cycle"), "{finished}");
    }
    let compiled = stave(&folder, ["compile", "lists.wdl", "--out", "out"]).finish().await.exits(2);
    assert!(compiled.to_string().contains("wdl-step-cycle"), "{compiled}");
}

#[tokio::test]
async fn a_kind_that_this_runtime_lacks_is_found_before_a_run_and_may_be_listed_for_another() {
    let folder = Folder::new();
    folder.write("plant.wdl", "version: 1\nworkflow: plant\nsteps:\n  - browse(nope.kind):\n      x: 1\n");
    let check = ["check", "--format", "json", "plant.wdl"];
    let compile = ["compile", "plant.wdl", "--out", "out", "--emit", "exec", "--json"];
    for command in [check.as_slice(), compile.as_slice()] {
        let report = stave(&folder, command.iter().copied()).finish().await.exits(2).json();
        let found = &items(&report, "diagnostics")[0];
        assert_eq!(text(found, "code"), Some("unknown-step-kind"), "{report}");
        assert_eq!(found.get("line").and_then(Value::as_i64), Some(4), "{report}");
    }
    folder.write("stave.toml", "[runtime]\nstep_kinds = [\"nope.kind\"]\n");
    stave(&folder, check).finish().await.exits(0);
    stave(&folder, compile).finish().await.exits(0);
    let run = stave(&folder, ["run", "plant.wdl", "--json"]).input("{}").finish().await.json();
    assert_eq!(run.pointer("/error/code").and_then(Value::as_str), Some("unknown-step-kind"), "{run}");
    // What is listed is part of what a compile depends on.
    folder.write("stave.toml", "[runtime]\nstep_kinds = []\n");
    stave(&folder, compile).finish().await.exits(2);
}
