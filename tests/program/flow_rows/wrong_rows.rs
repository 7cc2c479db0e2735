//! Rows that must not pass: every kind of wrong expectation is noticed, so a row that passes means something.

use stave_canon::Value;

use super::row::{CheckRow, RunRow};
use super::{check, run};

const FLOW: &str = r#"version: "1.0"
metadata: {name: both}
context: {requires: [q]}
nodes:
  ask:
    type: transform
    inputs: [{name: q, type: string}]
    outputs: [{name: a, type: string}]
    prompt:
      template: 'Say {{ q }}'
      model: {provider: openai, name: m1, endpoint: 'http://127.0.0.1:{MODEL_PORT}/v1'}
  send:
    type: transform
    inputs: [{name: a, type: string}]
    outputs: [{name: got, type: object}]
    transform: {mode: declarative, spec: {op: http.post, args: {url: 'http://127.0.0.1:{HTTP_PORT}/in?x=1', body: {a: '${a}'}, headers: {X-Kind: note}}}}
  never:
    type: transform
    inputs: [{name: a, type: string}]
    outputs: [{name: t, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: '${a}'}}}
edges:
  - {from: _input.q, to: ask.q}
  - {from: ask.a, to: send.a}
  - {from: ask.a, to: never.a, condition: "value == 'no'"}
  - {from: send.got, to: _output.got}
  - {from: never.t, to: _output.t}
"#;

/// A row that passes: a question to a model and a request to a host, with everything asserted.
const RUN: &str = r#"{"name": "right", "op": "flow.run", "input": {
  "request": {"q": "hello"},
  "model": [{"content": "well", "expect_contains": ["Say hello"], "expect_model": "m1"}],
  "http": [{"method": "POST", "path": "/in?x=1", "status": 200, "json": {"id": 1}, "expect_json": {"a": "well"},
            "expect_headers": {"X-Kind": "note"}, "expect_stable_header": "Idempotency-Key"}]},
 "expected": {"status": "ok", "output": {"got": {"id": 1}}, "model_calls": 1, "http_calls": 1, "skipped": ["never"]}}"#;

/// The row of a text like [`RUN`], with the flow put in.
fn run_row(text: &str) -> RunRow {
    let mut row = stave_canon::parse(text).unwrap();
    let input =
        row.as_object_mut().and_then(|row| row.get_mut("input")).and_then(Value::as_object_mut).unwrap();
    input.insert("yaml".into(), FLOW.into());
    RunRow::read(&row).unwrap()
}

#[tokio::test]
async fn every_kind_of_wrong_run_row_is_noticed() {
    assert_eq!(run::problems(&run_row(RUN)).await, [] as [String; 0]);
    for (right, wrong) in [
        (r#""status": "ok""#, r#""status": "error""#),
        (r#"{"got": {"id": 1}}"#, r#"{"got": {"id": 2}}"#),
        (r#""model_calls": 1"#, r#""model_calls": 2"#),
        (r#""http_calls": 1"#, r#""http_calls": 0"#),
        (r#""skipped": ["never"]"#, r#""skipped": []"#),
        (r#"["Say hello"]"#, r#"["Say goodbye"]"#),
        (r#""expect_model": "m1""#, r#""expect_model": "m2""#),
        (r#""expect_json": {"a": "well"}"#, r#""expect_json": {"a": "ill"}"#),
        (r#""expect_headers": {"X-Kind": "note"}"#, r#""expect_headers": {"X-Kind": "letter"}"#),
        (r#""expect_stable_header": "Idempotency-Key""#, r#""expect_stable_header": "X-Absent""#),
        (r#""path": "/in?x=1""#, r#""path": "/in?x=2""#),
        (r#""method": "POST""#, r#""method": "PUT""#),
        (r#""model": [{"#, r#""model": [{"status": 400}, {"#),
    ] {
        let text = RUN.replace(right, wrong);
        assert_ne!(text, RUN, "{right} is in the row");
        assert_ne!(run::problems(&run_row(&text)).await, [] as [String; 0], "{wrong}");
    }
}

#[tokio::test]
async fn every_kind_of_wrong_check_row_is_noticed() {
    let row = |yaml: &str, expected: &str| {
        let expected = stave_canon::parse(expected).unwrap();
        let input = Value::from_iter([("yaml", yaml)]);
        let row = Value::from_iter([("name", Value::from("row")), ("input", input), ("expected", expected)]);
        CheckRow::read(&row).unwrap()
    };
    let right = FLOW;
    let wrong = &right.replace("to: send.a", "to: sent.a");
    for (yaml, expected, passes) in [
        (right, r#"{"ok": true, "error_lines": []}"#, true),
        (right, r#"{"ok": false, "error_lines": []}"#, false),
        (right, r#"{"ok": true, "error_lines": [3]}"#, false),
        (right, r#"{"ok": true, "error_lines": null}"#, false),
        (wrong, r#"{"ok": false, "error_lines": [24]}"#, true),
        (wrong, r#"{"ok": false, "error_lines": null}"#, true),
        (wrong, r#"{"ok": false, "error_lines": [23]}"#, false),
        (wrong, r#"{"ok": true, "error_lines": [24]}"#, false),
        (wrong, r#"{"ok": false, "error_lines": [24, 24]}"#, false),
    ] {
        let problems = check::problems(&row(yaml, expected)).await;
        assert_eq!(problems.is_empty(), passes, "{expected}: {problems:?}");
    }
}
