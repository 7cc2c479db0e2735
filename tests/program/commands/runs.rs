//! `stave runs` and `stave why`: what is kept of runs, and what can be done with it.

use stave_canon::Value;

use super::sample::{DOUBLE, LOOPBACK};
use crate::folder::Folder;
use crate::json::{items, text};
use crate::mask::mask;
use crate::process::stave;

/// Divides by a number, and formats the answer when it is small.
const DIVIDE: &str = r#"version: "1.0"
metadata: {name: divider}
context: {requires: [n]}
nodes:
  divide:
    type: transform
    inputs: [{name: n, type: number}]
    outputs: [{name: n, type: number}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {'n': 100 // inputs['n']}
    runtime: {retries: 0}
  show:
    type: transform
    inputs: [{name: n, type: number}]
    outputs: [{name: text, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "it is ${n}"}}}
edges:
  - {from: _input.n, to: divide.n}
  - {from: divide.n, to: show.n, condition: "value < 50"}
  - {from: show.text, to: _output.text}
  - {from: divide.n, to: _output.n}
"#;

fn divider() -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", DIVIDE);
    folder
}

/// Runs the flow on a request and gives the run's id.
async fn run(folder: &Folder, request: &str, code: i32) -> String {
    let finished =
        stave(folder, ["run", "flow.yaml", "--input", "-", "--json"]).input(request).finish().await;
    text(&finished.exits(code).json(), "run_id").unwrap().to_owned()
}

async fn listed(folder: &Folder) -> Vec<(String, String)> {
    let value = stave(folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
    let word = |run: &Value, key| text(run, key).unwrap().to_owned();
    items(&value, "runs").iter().map(|run| (word(run, "run_id"), word(run, "status"))).collect()
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_shown_with_their_nodes() {
    let folder = divider();
    let (good, bad) = (run(&folder, r#"{"n": 5}"#, 0).await, run(&folder, r#"{"n": 0}"#, 1).await);
    assert_eq!(listed(&folder).await, [(bad.clone(), "error".to_owned()), (good.clone(), "ok".to_owned())]);
    let shown = stave(&folder, ["runs", "show", &bad]).finish().await.exits(0);
    assert_eq!(shown.stderr, "", "what was asked for is on stdout");
    let lines = shown.stdout.lines().filter(|line| !line.starts_with("document "));
    let lines: Vec<&str> = lines.map(|line| line.split(", started").next().unwrap_or(line)).collect();
    insta::assert_snapshot!("shown", mask(&lines.join("\n"), &folder));
    let value = stave(&folder, ["runs", "show", &good, "--json"]).finish().await.exits(0).json();
    assert_eq!(value.pointer("/outputs/divide/n").and_then(Value::as_i64), Some(20), "{value}");
    assert_eq!(value.pointer("/nodes/show/status").and_then(Value::as_str), Some("ok"));
    assert_eq!(value.pointer("/request/n").and_then(Value::as_i64), Some(5));
}

#[tokio::test]
async fn the_beginning_of_an_id_is_enough_and_an_unknown_one_is_told() {
    let folder = divider();
    let id = run(&folder, r#"{"n": 5}"#, 0).await;
    stave(&folder, ["runs", "show", &id[..12]]).finish().await.exits(0);
    let unknown = stave(&folder, ["runs", "show", "run_none"]).finish().await.exits(2);
    assert!(unknown.stderr.contains("stave runs list"), "{unknown}");
}

#[tokio::test]
async fn where_nothing_was_kept_there_are_no_runs_and_no_file_is_made() {
    let folder = divider();
    assert_eq!(listed(&folder).await, []);
    stave(&folder, ["runs", "show", "x"]).finish().await.exits(2);
    assert!(!folder.has(".stave"));
}

#[tokio::test]
async fn why_leads_from_a_node_to_its_line_and_to_what_each_edge_brought() {
    let folder = divider();
    let bad = run(&folder, r#"{"n": 0}"#, 1).await;
    let failed = stave(&folder, ["why", &bad]).finish().await.exits(0);
    insta::assert_snapshot!("why_it_failed", failed.stdout);
    let skipped = run(&folder, r#"{"n": 1}"#, 0).await;
    let answer = stave(&folder, ["why", &skipped, "show"]).finish().await.exits(0);
    insta::assert_snapshot!("why_it_was_skipped", answer.stdout);
    let value = stave(&folder, ["why", &bad, "divide", "--json"]).finish().await.exits(0).json();
    let node = items(&value, "nodes").first().cloned().unwrap();
    assert_eq!(node.get("line").and_then(Value::as_i64), Some(13), "{value}");
    assert!(text(&node, "source").unwrap().contains("100 // inputs['n']"), "{value}");
}

#[tokio::test]
async fn why_says_that_the_flow_has_changed_since() {
    let folder = divider();
    let bad = run(&folder, r#"{"n": 0}"#, 1).await;
    folder.write("flow.yaml", format!("# a line more\n{DIVIDE}"));
    let answer = stave(&folder, ["why", &bad]).finish().await.exits(0);
    assert!(answer.stderr.contains("has changed since"), "{answer}");
}

#[tokio::test]
async fn a_replay_takes_results_over_and_runs_the_document_it_was_pinned_to() {
    let folder = divider();
    let good = run(&folder, r#"{"n": 5}"#, 0).await;
    // The flow changes; the replay does not.
    folder.write("flow.yaml", DOUBLE);
    let again = stave(&folder, ["runs", "replay", &good, "show", "--json"]).finish().await.exits(0).json();
    assert_eq!(again.pointer("/output/text").and_then(Value::as_str), Some("it is 20"), "{again}");
    assert_ne!(text(&again, "run_id"), Some(good.as_str()));
    let id = text(&again, "run_id").unwrap();
    let shown = stave(&folder, ["runs", "show", id, "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&shown, "replay_of"), Some(good.as_str()));
    let unknown = stave(&folder, ["runs", "replay", &good, "nobody"]).finish().await.exits(2);
    assert!(unknown.stderr.contains("no node `nobody`"), "{unknown}");
}

/// Asks a model and says when it was asked, in a step of its own.
fn timed(port: u16) -> String {
    let flow = super::sample::asker(port);
    let (before, _) = flow.split_once("edges:").unwrap();
    format!(
        "{before}  say:\n    type: transform\n    inputs: [{{name: a, type: string}}]\n    outputs: [{{name: text, type: string}}]\n    transform:\n      mode: code\n      spec: |\n        def transform(inputs, context, state):\n            return {{'text': inputs['a'] + ' ' + context.event_time}}\nedges:\n  - {{from: _input.q, to: ask.q}}\n  - {{from: ask.a, to: say.a}}\n  - {{from: say.text, to: _output.text}}\n"
    )
}

#[tokio::test]
async fn a_replay_has_its_own_start_and_cost_and_marks_what_it_took_over() {
    let replies = stave_canon::parse(r#"[{"content": "It is blue."}]"#).unwrap();
    let model = crate::scripted::model::ModelScript::new(replies.as_array().unwrap());
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", timed(server.port));
    let first = run(&folder, r#"{"q": "why"}"#, 0).await;
    let second = run_of(&folder, "other", r#"{"n": 1}"#).await;
    let again = stave(&folder, ["runs", "replay", &first, "say", "--json"]).finish().await.exits(0).json();
    let replay = text(&again, "run_id").unwrap().to_owned();
    let of = async |id: &str| stave(&folder, ["runs", "show", id, "--json"]).finish().await.exits(0).json();
    let (original, shown) = (of(&first).await, of(&replay).await);
    for report in [&again, &shown] {
        let ask = report.pointer("/nodes/ask").unwrap();
        assert_eq!(ask.get("reused"), Some(&true.into()), "{report}");
        for used in ["usage", "cost_micros", "calls", "started_ms"] {
            assert_eq!(ask.get(used), None, "{used}: {report}");
        }
        assert_eq!(ask.get("duration_ms").and_then(Value::as_f64), Some(0.0), "{report}");
        assert_eq!(report.pointer("/nodes/say/reused"), None, "{report}");
        assert_eq!(report.pointer("/usage/input_tokens"), Some(&0.into()), "{report}");
        // The request is seen as of its arrival, so that the same step has the same answer.
        assert_eq!(report.get("output"), original.get("output"), "{report}");
    }
    assert_ne!(original.pointer("/usage/input_tokens"), Some(&0.into()), "{original}");
    let start = |report: &Value| text(report, "started_at").unwrap().to_owned();
    assert!(start(&shown) > start(&original), "{shown}");
    // The newest run by its own start comes first.
    let ids: Vec<String> = listed(&folder).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [replay.clone(), second, first]);
    let table = stave(&folder, ["runs", "show", &replay]).finish().await.exits(0);
    assert!(format!("{}{}", table.stdout, table.stderr).contains("reused"), "{table}");
    let why = stave(&folder, ["why", &replay, "ask", "--json"]).finish().await.exits(0).json();
    assert_eq!(why.pointer("/nodes/0/reused"), Some(&true.into()), "{why}");
    let page = stave(&folder, ["runs", "report", &replay]).finish().await.exits(0);
    assert!(page.stdout.contains("reused from the replayed run"), "{page}");
}

async fn run_of(folder: &Folder, name: &str, input: &str) -> String {
    folder.write(&format!("{name}.yaml"), DOUBLE);
    let file = format!("{name}.yaml");
    let ended = stave(folder, ["run", &file, "--input", "-", "--json"]).input(input).finish().await.exits(0);
    text(&ended.json(), "run_id").unwrap().to_owned()
}

#[tokio::test]
async fn an_ended_run_is_neither_resumed_nor_cancelled() {
    let folder = divider();
    let good = run(&folder, r#"{"n": 5}"#, 0).await;
    for action in ["resume", "cancel"] {
        let refused = stave(&folder, ["runs", action, &good]).finish().await.exits(2);
        assert!(refused.stderr.contains("has ended: ok"), "{refused}");
    }
}

#[tokio::test]
async fn old_runs_are_taken_away_with_the_documents_that_nobody_needs() {
    let folder = divider();
    let mut ids = Vec::new();
    for n in 1..=3 {
        ids.push(run(&folder, &format!("{{\"n\": {n}}}"), 0).await);
    }
    let keep_one = ["runs", "gc", "--older-than", "0", "--keep", "1", "--dry-run"];
    let preview = stave(&folder, keep_one.into_iter().chain(["--json"])).finish().await.exits(0).json();
    let oldest: Vec<Value> = ids[..2].iter().map(|id| id.as_str().into()).collect();
    assert_eq!(preview.get("removed"), Some(&Value::from(oldest.clone())), "{preview}");
    let preview = stave(&folder, keep_one).finish().await.exits(0);
    assert!(
        preview.stderr.contains(&format!("run {} of `divider` (ok) would be removed", ids[0])),
        "{preview}"
    );
    assert_eq!(listed(&folder).await.len(), 3);
    let removed = stave(&folder, ["runs", "gc", "--older-than", "0", "--keep", "1", "--json"]).finish().await;
    let removed = removed.exits(0).json();
    let counts = |report: &Value| [report.get("runs"), report.get("documents")].map(Option::<&Value>::cloned);
    assert_eq!(counts(&removed), [Some(2.into()), Some(0.into())], "{removed}");
    assert_eq!(removed.get("removed"), Some(&Value::from(oldest)), "{removed}");
    assert!(removed.get("bytes_before").is_some() && removed.get("bytes_after").is_some(), "{removed}");
    assert_eq!(listed(&folder).await.len(), 1);
    let removed = stave(&folder, ["runs", "gc", "--older-than", "0", "--json"]).finish().await.exits(0);
    assert_eq!(counts(&removed.json()), [Some(1.into()), Some(1.into())]);
}

#[tokio::test]
async fn what_a_request_says_in_auth_is_never_kept_and_has_to_be_given_again() {
    let folder = divider();
    let flow = DIVIDE.replace("inputs['n']}", "inputs['n'] + len(context.auth.get('token', '')) - 13}");
    folder.write("flow.yaml", flow);
    let id = run(&folder, r#"{"n": 5, "auth": {"token": "very-secret-1"}}"#, 0).await;
    for (path, bytes) in folder.files().iter().filter(|(path, _)| path.to_string_lossy().contains(".stave")) {
        let found = bytes.windows(11).any(|window| window == b"very-secret");
        assert!(!found, "{} holds the secret", path.display());
    }
    let refused = stave(&folder, ["runs", "replay", &id, "divide"]).finish().await.exits(2);
    assert!(refused.stderr.contains("--auth"), "{refused}");
    folder.write("auth.json", r#"{"token": "very-secret-1"}"#);
    stave(&folder, ["runs", "replay", &id, "divide", "--auth", "auth.json"]).finish().await.exits(0);
}

/// A folder with the document of the page about stopped runs, which asks a person.
fn approval() -> Folder {
    let page = stave_diag::lookup("run-stopped").unwrap().page;
    let example = stave_diag::page::examples(page).bad.into_iter().next().unwrap();
    let folder = Folder::new();
    folder.write("flow.yaml", "");
    folder.write("flow.ir.json", example.text);
    folder
}

async fn asked(folder: &Folder) -> String {
    let arguments = ["run", "flow.ir.json", "--input", "-", "--json"];
    let report = stave(folder, arguments).input(r#"{"amount": 900}"#).finish().await.exits(1).json();
    assert_eq!(report.pointer("/error/kind").and_then(Value::as_str), Some("waiting"), "{report}");
    text(&report, "run_id").unwrap().to_owned()
}

#[tokio::test]
async fn a_run_that_asks_a_person_waits_over_processes_and_goes_on_when_it_is_approved() {
    let folder = approval();
    let run = asked(&folder).await;
    assert_eq!(listed(&folder).await, [(run.clone(), "waiting".to_owned())]);
    let still = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(1).json();
    assert_eq!(still.pointer("/error/kind").and_then(Value::as_str), Some("waiting"));
    let wrong = stave(&folder, ["runs", "approve", &run, "aprove"]).finish().await.exits(2);
    assert!(wrong.stderr.contains("approve"), "{wrong}");
    let approved = stave(&folder, ["runs", "approve", &run, "approve", "--json"]).finish().await;
    let approved = approved.exits(0).json();
    assert_eq!(approved.pointer("/output/amount").and_then(Value::as_i64), Some(900), "{approved}");
    assert_eq!(listed(&folder).await, [(run, "ok".to_owned())]);
}

#[tokio::test]
async fn a_denial_fails_the_step_and_stands() {
    let folder = approval();
    let run = asked(&folder).await;
    let deny = ["runs", "approve", &run, "approve", "--deny", "--comment", "too much", "--no-resume"];
    stave(&folder, deny).finish().await.exits(0);
    let late = stave(&folder, ["runs", "approve", &run, "approve"]).finish().await.exits(2);
    assert!(late.stderr.contains("was denied before"), "{late}");
    let denied = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(1).json();
    let message = denied.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    assert!(message.contains("too much"), "{denied}");
}

#[tokio::test]
async fn a_waiting_run_can_be_cancelled() {
    let folder = approval();
    let run = asked(&folder).await;
    stave(&folder, ["runs", "cancel", &run]).finish().await.exits(0);
    assert_eq!(listed(&folder).await, [(run, "cancelled".to_owned())]);
}

#[tokio::test]
async fn a_page_about_a_run_holds_its_results_escaped_and_loads_nothing() {
    let folder = divider();
    let id = run(&folder, r#"{"n": 5, "note": "<script>alert(1)</script>"}"#, 0).await;
    stave(&folder, ["runs", "report", &id, "--out", "run.html"]).finish().await.exits(0);
    let page = folder.read("run.html");
    for text in [id.as_str(), "<svg", "it is 20", "&lt;script&gt;alert(1)"] {
        assert!(page.contains(text), "`{text}` is not in {page}");
    }
    for text in ["<script", "http://", "https://", "src=", "@import"] {
        let found = page.replace("http://www.w3.org/2000/svg", "").contains(text);
        assert!(!found, "`{text}` is in {page}");
    }
    let printed = stave(&folder, ["runs", "report", &id]).finish().await.exits(0);
    assert_eq!(printed.stdout.trim_end(), page.trim_end());
}
