//! Values that would take too much memory end their own run with a code, in a command and in a server.

use stave_canon::Value;

use crate::folder::Folder;
use crate::process::stave;

/// Bytes of the one text that each flow is given.
const TEXT: usize = 900_000;

/// Fills one template with the text so many times. 16 MiB are allowed.
fn filled(times: usize) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: filled{times}}}
context: {{requires: [text]}}
nodes:
  show:
    type: transform
    inputs: [{{name: text, type: string}}]
    outputs: [{{name: text, type: string}}]
    transform: {{mode: declarative, spec: {{op: io.format_response, args: {{template: "{}"}}}}}}
edges:
  - {{from: _input.text, to: show.text}}
  - {{from: show.text, to: _output.text}}
"#,
        "${text}".repeat(times)
    )
}

/// Brings the text to one step over so many edges. 64 MiB are allowed.
fn gathered(edges: usize) -> String {
    let each = |write: &dyn Fn(usize) -> String| (0..edges).map(write).collect::<Vec<_>>();
    format!(
        r#"version: "1.0"
metadata: {{name: gathered{edges}}}
context: {{requires: [text]}}
nodes:
  join:
    type: transform
    inputs: [{}]
    outputs: [{{name: text, type: string}}]
    transform: {{mode: declarative, spec: {{op: io.format_response, args: {{template: "${{t0}}"}}}}}}
edges:
{}
  - {{from: join.text, to: _output.text}}
"#,
        each(&|index| format!("{{name: t{index}, type: string}}")).join(", "),
        each(&|index| format!("  - {{from: _input.text, to: join.t{index}}}")).join("\n"),
    )
}

fn request() -> String {
    format!("{{\"text\": \"{}\"}}", "x".repeat(TEXT))
}

#[tokio::test]
async fn a_run_with_too_large_a_value_fails_with_a_code() {
    let folder = Folder::new();
    for (flow, code) in [
        (filled(2), None),
        (filled(19), Some("interpolation-failed")),
        (gathered(2), None),
        (gathered(76), Some("result-too-large")),
    ] {
        folder.write("flow.yaml", &flow);
        let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json", "--ephemeral"]);
        let finished = call.input(&request()).finish().await.exits(i32::from(code.is_some()));
        let report = finished.json();
        assert_eq!(report.pointer("/error/code").and_then(Value::as_str), code, "{finished}");
    }
}

#[tokio::test]
async fn a_server_answers_with_the_code_and_goes_on() {
    let folder = Folder::new();
    folder.write("stave.toml", "");
    for flow in [filled(2), filled(19), gathered(2), gathered(76)] {
        let name = flow.lines().nth(1).and_then(|line| line.split("name: ").nth(1)).expect("a name");
        folder.write(&format!("flows/{}.yaml", name.trim_end_matches('}')), &flow);
    }
    let served = crate::serve::Served::of(stave(&folder, ["serve", "--port", "0"])).await;
    for (name, code) in [
        ("filled19", "interpolation-failed"),
        ("filled2", ""),
        ("gathered76", "result-too-large"),
        ("gathered2", ""),
    ] {
        let answer = served.post(&format!("/v1/models/{name}:predict"), &request()).await;
        match code {
            "" => drop(answer.is(200)),
            code => {
                assert_ne!(answer.status, 200, "{name}");
                assert!(answer.json().to_string().contains(code), "{name}: {}", answer.json());
            }
        }
    }
    served.end().await;
}
