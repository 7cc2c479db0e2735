//! What a run used is reported alike everywhere: in its own report, of a run that was killed, resumed or cancelled.

use std::time::Duration;

use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::{items, text, values};
use crate::process::stave;
use crate::scripted::model::ModelScript;

/// A model that calls a tool once, within a budget that reserves far more than the model uses.
fn flow(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: asker}}
context: {{requires: [q]}}
runtime: {{budget: {{tokens: 100000, cost_usd: 1000, calls: 100}}}}
nodes:
  ask:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      template: "{{{{ q }}}}"
      model: {{provider: openai, name: dear-model, endpoint: "http://127.0.0.1:{port}/v1"}}
      max_tokens: 5000
      tools:
        - name: look
          description: Looks.
          parameters: {{type: object, properties: {{at: {{type: string}}}}, required: [at]}}
          maps_to: look
    runtime: {{retries: 1}}
  look:
    type: transform
    inputs: [{{name: at, type: string}}]
    outputs: [{{name: seen, type: string}}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {{"seen": "a " + inputs["at"]}}
edges:
  - {{from: _input.q, to: ask.q}}
  - {{from: ask.a, to: _output.a}}
"#
    )
}

/// The usage of a whole report, with what each node used and how often it tried.
fn used(report: &Value) -> String {
    let node = |name: &str| {
        let of =
            |member: &str| report.pointer(&format!("/nodes/{name}/{member}")).cloned().unwrap_or_default();
        format!("{name} {} {} {} {}", of("usage"), of("cost_micros"), of("calls"), of("attempts"))
    };
    format!("{} {} {}", report.get("usage").unwrap(), node("ask"), node("look"))
}

#[tokio::test]
async fn a_killed_run_reports_what_it_used_and_not_what_it_reserved() {
    for is_resumed in [false, true] {
        let script = r#"[
            {"status": 500, "message": "busy"},
            {"tool_calls": [{"name": "look", "arguments": {"at": "house"}}]},
            {"content": "never heard", "delay_ms": 60000},
            {"content": "A house."}
        ]"#;
        let model = ModelScript::new(&values(script));
        let server = model.serve().await;
        let folder = Folder::new();
        folder.write("stave.toml", format!("{LOOPBACK}[prices.dear-model]\ninput = 1000\noutput = 1000\n"));
        folder.write("flow.yaml", flow(server.port));
        folder.write("in.json", r#"{"q": "What is there to be seen?"}"#);
        let third_call = async {
            while model.log.lock().calls.len() < 3 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let run = ["run", "flow.yaml", "--input", "in.json"];
        stave(&folder, run).killed_at(third_call).await.expect("the run waits for its model");
        let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
        let run = text(&items(&listed, "runs")[0], "run_id").unwrap().to_owned();
        let shown = async || stave(&folder, ["runs", "show", &run, "--json"]).finish().await.exits(0).json();
        let killed = shown().await;
        // The question has six tokens and the call of the tool one; the second answer was never heard.
        let tokens = ["input_tokens", "output_tokens"]
            .map(|member| killed.pointer(&format!("/usage/{member}")).and_then(Value::as_i64).unwrap());
        assert_eq!(tokens, [6, 1], "{killed}");
        assert_eq!(killed.pointer("/usage/cost_micros"), Some(&7000.into()), "{killed}");
        if !is_resumed {
            stave(&folder, ["runs", "cancel", &run]).finish().await.exits(0);
            let cancelled = shown().await;
            assert_eq!(text(&cancelled, "status"), Some("cancelled"));
            assert_eq!(used(&cancelled), used(&killed), "{cancelled}");
            continue;
        }
        let resumed = stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(0).json();
        assert_eq!(resumed.pointer("/output/a"), Some(&"A house.".into()), "{resumed}");
        let after = shown().await;
        assert_eq!(used(&after), used(&resumed), "{after}");
        assert_eq!(after.get("duration_ms"), resumed.get("duration_ms"), "{after}");
        let output = resumed.pointer("/usage/output_tokens").and_then(Value::as_i64);
        assert_eq!(output, Some(3), "the call of the tool, and the answer: {resumed}");
        // The first call failed once, and the second was made again.
        assert_eq!(resumed.pointer("/nodes/ask/calls"), Some(&4.into()), "{resumed}");
        assert_eq!(resumed.pointer("/nodes/ask/attempts"), Some(&2.into()), "{resumed}");
    }
}
