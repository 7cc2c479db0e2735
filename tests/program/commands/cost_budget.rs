//! A budget of money holds for steps that ask models at the same time.

use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::values;
use crate::process::stave;
use crate::scripted::host::HostScript;
use crate::scripted::model::ModelScript;

/// Six steps that begin together and ask a model that answers with as many tokens as it may.
fn parallel_asks(port: u16) -> String {
    let names = ["a", "b", "c", "d", "e", "f"];
    let step = |name: &str| {
        format!(
            r#"  {name}:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      template: "{{{{ q }}}}"
      max_tokens: 100
      model: {{provider: openai, name: dear-model, endpoint: "http://127.0.0.1:{port}/v1"}}
    runtime: {{retries: 0}}
"#
        )
    };
    let edge = |name: &str| {
        format!("  - {{from: _input.q, to: {name}.q}}\n  - {{from: {name}.a, to: _output.{name}}}\n")
    };
    format!(
        "version: \"1.0\"\nmetadata: {{name: dear}}\ncontext: {{requires: [q]}}\nruntime: {{budget: {{cost_usd: 0.35}}}}\nnodes:\n{}edges:\n{}",
        names.map(step).concat(),
        names.map(edge).concat()
    )
}

#[tokio::test]
async fn steps_that_run_at_the_same_time_do_not_exceed_it_together() {
    // A token costs a thousandth of a dollar; four letters are a token.
    let prices = format!("{LOOPBACK}[prices.dear-model]\ninput = 1000\noutput = 1000\n");
    let answer = format!(r#"{{"content": "{}", "delay_ms": 50}}"#, "word".repeat(100));
    let answers: Vec<Value> =
        std::iter::repeat_with(|| stave_canon::parse(&answer).expect("an answer")).take(6).collect();
    let model = ModelScript::new(&answers);
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", prices);
    folder.write("flow.yaml", parallel_asks(server.port));
    let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json", "--ephemeral"]);
    let finished = call.input(r#"{"q": "Why?"}"#).finish().await.exits(1);
    let report = finished.json();
    assert_eq!(report.pointer("/error/code").and_then(Value::as_str), Some("budget-exceeded"), "{finished}");
    // Each call costs the hundred tokens of its answer, and its question.
    let calls = model.log.lock().calls.len();
    assert!((1..=3).contains(&calls), "{calls} calls: {finished}");
}

#[tokio::test]
async fn a_model_without_a_price_says_what_to_do() {
    let model = ModelScript::new(&[]);
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", parallel_asks(server.port));
    let call = stave(&folder, ["run", "flow.yaml", "--input", "-"]);
    let finished = call.input(r#"{"q": "Why?"}"#).finish().await.exits(1);
    let message = "the run has a cost budget of 0.350000 $, and the model has no price";
    assert!(finished.stderr.replace("\n", " ").contains(message), "{finished}");
    assert!(finished.stderr.contains("[prices]"), "{finished}");
    assert_eq!(model.log.lock().calls.len(), 0);
}

/// Two steps in a row.
fn asks_in_a_row(port: u16) -> String {
    let step = |name: &str| {
        format!(
            r#"  {name}:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      template: "{{{{ q }}}}"
      max_tokens: 300
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
    runtime: {{retries: 0}}
"#
        )
    };
    format!(
        r#"version: "1.0"
metadata: {{name: silent}}
context: {{requires: [q]}}
runtime: {{budget: {{tokens: 400}}}}
nodes:
{}{}edges:
  - {{from: _input.q, to: first.q}}
  - {{from: first.a, to: second.q}}
  - {{from: second.a, to: _output.a}}
"#,
        step("first"),
        step("second")
    )
}

#[tokio::test]
async fn a_reply_is_counted_whatever_it_says_that_it_used() {
    let words = "word ".repeat(200);
    for usage in [
        r"{}",
        r"null",
        r#"{"prompt_tokens": "x", "completion_tokens": -9}"#,
        r#"{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}"#,
    ] {
        let entry = format!(
            r#"[{{"method": "POST", "path": "/v1/chat/completions", "times": 9, "json": {{"id": "c", "object": "chat.completion",
                "model": "gpt-4o-mini", "usage": {usage}, "choices": [{{"index": 0, "finish_reason": "stop",
                "message": {{"role": "assistant", "content": "{words}"}}}}]}}}}]"#
        );
        let host = HostScript::new(&values(&entry));
        let server = host.serve().await;
        let folder = Folder::new();
        folder.write("stave.toml", LOOPBACK);
        folder.write("flow.yaml", asks_in_a_row(server.port));
        let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json", "--ephemeral"]);
        let finished = run.env("OPENAI_API_KEY", "test").input(r#"{"q": "Why?"}"#).finish().await.exits(1);
        let code = finished.json().pointer("/error/code").and_then(Value::as_str).map(str::to_owned);
        assert_eq!(code.as_deref(), Some("budget-exceeded"), "{usage}: {finished}");
        assert_eq!(host.log.lock().calls.len(), 1, "{usage}");
    }
}

#[tokio::test]
async fn the_key_of_the_default_model_goes_to_its_port_only() {
    let model = ModelScript::new(&[]);
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write(
        "stave.toml",
        "[models.default]\nprovider = \"openai\"\nname = \"gpt-4o-mini\"\nendpoint = \"http://127.0.0.1:9/v1\"\n",
    );
    folder.write("flow.yaml", asks_in_a_row(server.port));
    let run = stave(&folder, ["run", "flow.yaml", "--input", "-"]);
    let refused = run.env("OPENAI_API_KEY", "test").input(r#"{"q": "Why?"}"#).finish().await;
    assert!(refused.stderr.contains("host-not-allowed"), "{refused}");
    assert_ne!(refused.code, 0);
    assert_eq!(model.log.lock().calls.len(), 0);
}
