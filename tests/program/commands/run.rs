//! `stave run`: a flow on a request, its answer, its table and its exit code.

use stave_canon::Value;

use super::sample::{DOUBLE, LOOPBACK, asker, broken};
use crate::folder::{Folder, repository_file};
use crate::json::{items, text, values};
use crate::mask::mask;
use crate::process::{Finished, stave};
use crate::scripted::model::ModelScript;

fn doubler(request: &str) -> Folder {
    let folder = Folder::new();
    folder.write("flow.yaml", DOUBLE);
    folder.write("request.json", request);
    folder
}

#[tokio::test]
async fn the_support_example_answers_two_turns_of_one_session() {
    let folder = Folder::copy_of("examples/support");
    let arguments = ["run", "flows/support.yaml", "--input", "requests/conversation.jsonl"];
    let finished = stave(&folder, arguments).without_env("OPENAI_API_KEY").finish().await.exits(0);
    insta::assert_snapshot!("support_answers", finished.stdout);
    insta::assert_snapshot!("support_tables", mask(&finished.stderr, &folder));
}

#[tokio::test]
async fn the_second_turn_of_the_support_example_needs_the_memory_of_the_first() {
    let turns = repository_file("examples/support/requests/conversation.jsonl");
    let (first, second) = turns.trim().split_once('\n').unwrap();
    let arguments = ["run", "flows/support.yaml", "--input", "-", "--json"];
    let turn = async |folder: &Folder, request: &str| stave(folder, arguments).input(request).finish().await;

    let folder = Folder::copy_of("examples/support");
    turn(&folder, first).await.exits(0);
    let remembered = turn(&folder, second).await.exits(0);
    assert!(answer(&remembered).contains("courier at no charge"), "{remembered}");

    let elsewhere = Folder::copy_of("examples/support");
    let forgotten = turn(&elsewhere, second).await.exits(0).json();
    let status = |node: &str| forgotten.pointer(&format!("/nodes/{node}/status")).and_then(Value::as_str);
    assert_eq!(status("generate_response"), Some("error"), "{forgotten}");
    assert_eq!(status("error_handler"), Some("ok"), "{forgotten}");
}

fn answer(finished: &Finished) -> String {
    let report = finished.json();
    report.pointer("/output/data/answer").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_answer_goes_to_stdout_and_the_table_to_stderr() {
    let folder = doubler(r#"{"n": 21}"#);
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "request.json"]).finish().await.exits(0);
    assert_eq!(finished.stdout, "{\n  \"text\": \"twice is 42\"\n}\n");
    insta::assert_snapshot!(mask(&finished.stderr, &folder));
}

#[tokio::test]
async fn machines_get_one_object_with_a_fixed_shape() {
    let folder = doubler(r#"{"n": 21}"#);
    let arguments = ["run", "flow.yaml", "--input", "request.json", "--json"];
    let finished = stave(&folder, arguments).finish().await.exits(0);
    assert_eq!(finished.stderr, "");
    let report = finished.json();
    assert_eq!(text(&report, "status"), Some("ok"));
    assert_eq!(report.get("output").map(Value::to_string).as_deref(), Some(r#"{"text":"twice is 42"}"#));
    assert_eq!(report.get("error"), Some(&Value::Null));
    assert!(text(&report, "run_id").is_some_and(|id| !id.is_empty()));
    assert!(report.get("usage").is_some());
    let nodes = report.get("nodes").and_then(Value::as_object).unwrap();
    assert_eq!(nodes.keys().collect::<Vec<_>>(), ["double", "show"]);
    assert!(nodes.values().all(|node| text(node, "status") == Some("ok")), "{report}");
}

#[tokio::test]
async fn every_run_has_an_id_of_its_own() {
    let folder = doubler(r#"{"n": 21}"#);
    let id = async || {
        let arguments = ["run", "flow.yaml", "--input", "request.json", "--json"];
        let report = stave(&folder, arguments).finish().await.exits(0).json();
        text(&report, "run_id").unwrap().to_owned()
    };
    assert_ne!(id().await, id().await);
}

#[tokio::test]
async fn a_broken_flow_runs_nothing_and_shows_its_faults() {
    let model = ModelScript::new(&[]);
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", asker(server.port).replace("to: _output.a", "to: _otput.a"));
    folder.write("request.json", r#"{"q": "Why?"}"#);
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "request.json"]).finish().await.exits(2);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(finished.stderr.replace(&server.port.to_string(), "[port]"));
    assert_eq!(model.log.lock().calls.len(), 0);
}

#[tokio::test]
async fn yaml_that_is_none_is_shown_at_its_place() {
    let folder = Folder::new();
    folder.write("flow.yaml", "version: \"1.0\"\nmetadata: {name: x\nnodes: {}\n");
    let finished = stave(&folder, ["run", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(finished.stderr);
}

#[tokio::test]
async fn machines_get_the_faults_of_a_broken_flow_in_the_report() {
    let folder = Folder::new();
    folder.write("flow.yaml", broken());
    let finished = stave(&folder, ["run", "flow.yaml", "--json"]).finish().await.exits(2);
    let report = finished.json();
    assert_eq!(text(&report, "status"), Some("error"));
    assert_eq!(report.get("output"), Some(&Value::Null));
    let codes: Vec<&str> = items(&report, "diagnostics").iter().filter_map(|one| text(one, "code")).collect();
    assert!(codes.contains(&"dangling-edge") && codes.contains(&"unknown-op"), "{codes:?}");
}

#[tokio::test]
async fn a_refused_prompt_exits_with_3() {
    let page = repository_file("docs/codes/prompt-refused.md");
    let example = stave_diag::page::examples(&page).bad.remove(0);
    let folder = Folder::new();
    folder.write("stave.toml", "[models]\nhosts = [\"127.0.0.1\"]\n");
    folder.write("flow.ir.json", &example.text);
    folder.write("request.json", example.request.unwrap());
    let arguments = ["run", "flow.ir.json", "--input", "request.json"];
    let finished = stave(&folder, arguments).finish().await.exits(3);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(mask(&finished.stderr, &folder));
    let machine = stave(&folder, arguments.into_iter().chain(["--json"])).finish().await.exits(3).json();
    assert_eq!(machine.pointer("/error/code").and_then(Value::as_str), Some("prompt-refused"));
    assert_eq!(machine.pointer("/error/kind").and_then(Value::as_str), Some("refused"));
}

#[tokio::test]
async fn a_failed_run_exits_with_1_and_names_the_place() {
    let folder = doubler(r#"{"n": 21}"#);
    folder.write("flow.yaml", DOUBLE.replace("inputs['n'] * 2", "inputs['n'] / 0"));
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "request.json"]).finish().await.exits(1);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(mask(&finished.stderr, &folder));
    let arguments = ["run", "flow.yaml", "--input", "request.json", "--json"];
    let report = stave(&folder, arguments).finish().await.exits(1).json();
    assert_eq!(report.pointer("/error/code").and_then(Value::as_str), Some("code-failed"));
    assert_eq!(report.pointer("/error/node").and_then(Value::as_str), Some("double"));
    assert_eq!(report.pointer("/error/line").and_then(Value::as_i64), Some(13));
    assert_eq!(report.pointer("/nodes/show/status").and_then(Value::as_str), Some("cancelled"));
}

#[tokio::test]
async fn a_request_that_lacks_a_field_fails_the_run() {
    let folder = doubler("{}");
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "request.json"]).finish().await.exits(1);
    insta::assert_snapshot!(mask(&finished.stderr, &folder));
}

#[tokio::test]
async fn a_request_that_is_not_json_is_invalid_at_its_place() {
    let folder = doubler("{\n  \"n\": 21,\n  oops\n}\n");
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "request.json"]).finish().await.exits(2);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(finished.stderr);
}

#[tokio::test]
async fn the_place_in_a_file_of_requests_counts_its_lines() {
    let folder = doubler("");
    folder.write("requests.jsonl", "{\"n\": 1}\n\n{\"n\": }\n");
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "requests.jsonl"]).finish().await.exits(2);
    assert!(finished.stderr.contains("requests.jsonl:3:7"), "{finished}");
    assert_eq!(finished.stdout, "", "nothing runs when a later request cannot be read");
}

#[tokio::test]
async fn a_request_may_come_from_standard_input() {
    let folder = doubler("");
    let finished =
        stave(&folder, ["run", "flow.yaml", "--input", "-"]).input(r#"{"n": 4}"#).finish().await.exits(0);
    assert!(finished.stdout.contains("twice is 8"), "{finished}");
}

#[tokio::test]
async fn requests_of_several_files_run_in_order() {
    let folder = doubler(r#"{"n": 1}"#);
    folder.write("more.jsonl", "{\"n\": 2}\n{\"n\": 3}\n");
    let arguments = ["run", "flow.yaml", "--input", "request.json", "--input", "more.jsonl", "--json"];
    let report = stave(&folder, arguments).finish().await.exits(0).json();
    assert_eq!(text(&report, "status"), Some("ok"));
    let outputs =
        items(&report, "runs").iter().map(|run| run.pointer("/output/text").and_then(Value::as_str));
    assert_eq!(outputs.collect::<Vec<_>>(), [Some("twice is 2"), Some("twice is 4"), Some("twice is 6")]);
}

#[tokio::test]
async fn one_failed_request_of_several_is_seen_in_the_exit_code() {
    let folder = doubler("");
    folder.write("requests.jsonl", "{\"n\": 1}\n{}\n{\"n\": 3}\n");
    let arguments = ["run", "flow.yaml", "--input", "requests.jsonl", "--json"];
    let report = stave(&folder, arguments).finish().await.exits(1).json();
    assert_eq!(text(&report, "status"), Some("error"));
    let statuses = items(&report, "runs").iter().map(|run| text(run, "status"));
    assert_eq!(statuses.collect::<Vec<_>>(), [Some("ok"), Some("error"), Some("ok")]);
}

#[tokio::test]
async fn a_flow_that_is_not_there_is_invalid() {
    let finished = stave(&Folder::new(), ["run", "none.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(finished.stderr);
}

#[tokio::test]
async fn machines_get_an_object_even_when_nothing_could_be_run() {
    let folder = doubler("{oops");
    for arguments in [
        ["run", "none.yaml", "--json"].as_slice(),
        &["run", "flow.yaml", "--input", "request.json", "--json"],
    ] {
        let finished = stave(&folder, arguments).finish().await.exits(2);
        assert_eq!(finished.stderr, "");
        let report = finished.json();
        assert_eq!(text(&report, "status"), Some("error"), "{report}");
        assert!(report.pointer("/error/message").and_then(Value::as_str).is_some(), "{report}");
    }
}

#[tokio::test]
async fn an_ephemeral_run_without_session_state_leaves_no_file_behind() {
    let folder = doubler(r#"{"n": 21}"#);
    let before = folder.files().len();
    stave(&folder, ["run", "flow.yaml", "--input", "request.json", "--ephemeral"]).finish().await.exits(0);
    assert_eq!(folder.files().len(), before);
}

#[tokio::test]
async fn a_model_is_asked_and_its_tokens_are_counted() {
    let model =
        ModelScript::new(&values(r#"[{"content": "Because.", "expect_contains": ["Question: Why?"]}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", asker(server.port));
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "-"])
        .input(r#"{"q": "Why?"}"#)
        .finish()
        .await
        .exits(0);
    assert_eq!(finished.stdout, "{\n  \"a\": \"Because.\"\n}\n");
    insta::assert_snapshot!(mask(&finished.stderr, &folder));
    let log = model.log.lock();
    assert_eq!((log.calls.len(), log.problems.as_slice()), (1, [].as_slice()));
}
