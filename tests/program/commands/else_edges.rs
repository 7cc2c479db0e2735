//! `else: true` on an edge: it fires when no condition from the same port holds.

use crate::folder::Folder;
use crate::json::text;
use crate::process::stave;

/// Three routes out of one port, each with an answer of its own.
const FLOW: &str = r#"version: "1.1"
metadata: {name: router}
context: {requires: [score]}
nodes:
  rate:
    type: transform
    inputs: [{name: score, type: number}]
    outputs: [{name: score, type: number}]
    error: {name: failed}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            if inputs['score'] < 0:
                raise TypeError('negative')
            return {'score': inputs['score']}
    runtime: {retries: 0}
  low:
    type: transform
    inputs: [{name: score, type: number}]
    outputs: [{name: answer, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "low ${score}"}}}
  high:
    type: transform
    inputs: [{name: score, type: number}]
    outputs: [{name: answer, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "high ${score}"}}}
  odd:
    type: transform
    inputs: [{name: error, type: object}]
    outputs: [{name: answer, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "odd ${error.code}"}}}
edges:
  - {from: _input.score, to: rate.score}
  - {from: rate.score, to: low.score, else: true, transform: "value * 10"}
  - {from: rate.score, to: high.score, condition: "value > 8"}
  - {from: rate.score, to: _output.answer, condition: "1 / (value - 5) > 0 and value < 7", transform: "'middle'"}
  - {from: rate.failed, to: _output.answer, condition: "value['kind'] == 'timeout'", transform: "'slow'"}
  - {from: rate.failed, to: odd.error, else: true}
  - {from: low.answer, to: _output.answer}
  - {from: high.answer, to: _output.answer}
  - {from: odd.answer, to: _output.answer}
"#;

fn folder(flow: &str) -> Folder {
    let folder = Folder::new();
    folder.write("flow.yaml", flow);
    folder
}

#[tokio::test]
async fn else_fires_when_no_condition_from_its_port_holds() {
    let folder = folder(FLOW);
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
    for (score, answer) in [("9", "high 9"), ("6", "middle"), ("2", "low 20"), ("-1", "odd code-failed")] {
        let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]);
        let report = run.input(&format!(r#"{{"score": {score}}}"#)).finish().await.exits(0).json();
        let output = report.get("output").and_then(|output| text(output, "answer"));
        assert_eq!(output, Some(answer), "{report}");
    }
}

#[tokio::test]
async fn else_does_not_fire_beside_a_condition_that_failed() {
    let folder = folder(FLOW);
    let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]);
    let report = run.input(r#"{"score": 5}"#).finish().await.exits(1).json();
    assert_eq!(report.get("error").and_then(|error| text(error, "code")), Some("edge-failed"), "{report}");
    assert!(!report.to_string().contains("low 50"), "{report}");
}

#[tokio::test]
async fn a_compiled_flow_keeps_its_else_edges() {
    let folder = folder(FLOW);
    stave(&folder, ["compile", "flow.yaml", "--out", "out"]).finish().await.exits(0);
    let run = stave(&folder, ["run", "out/flows/router.ir.json", "--input", "-", "--json"]);
    let report = run.input(r#"{"score": 2}"#).finish().await.exits(0).json();
    assert_eq!(report.get("output").and_then(|output| text(output, "answer")), Some("low 20"), "{report}");
}

#[tokio::test]
async fn misplaced_else_is_an_error_and_version_1_0_refuses_it() {
    let cases = [
        (FLOW.replace("else: true, transform", "else: true, condition: value < 3, transform"), "bad-else"),
        (FLOW.replace(r#"condition: "value > 8""#, "else: true"), "bad-else"),
        (FLOW.replace(r#"condition: "value['kind'] == 'timeout'""#, "x-note: none"), "bad-else"),
        (FLOW.replace("else: true", "else: maybe"), "wrong-type"),
        (FLOW.replace(r#"version: "1.1""#, r#"version: "1.0""#), "needs-later-version"),
    ];
    for (flow, code) in cases {
        let found =
            stave(&folder(&flow), ["check", "flow.yaml", "--format", "short"]).finish().await.exits(2);
        assert!(found.stdout.contains(code), "{code}: {}", found.stdout);
    }
}

#[tokio::test]
async fn graph_diff_edit_and_fmt_know_else() {
    let folder = folder(FLOW);
    let drawn = stave(&folder, ["graph", "flow.yaml", "--format", "mermaid"]).finish().await.exits(0);
    assert!(drawn.stdout.contains("else"), "{}", drawn.stdout);
    let line = "  - {from: rate.failed, to: odd.error, else: true}\n";
    folder.write("before.yaml", FLOW.replace(line, ""));
    let diff = stave(&folder, ["diff", "before.yaml", "flow.yaml"]).finish().await;
    assert!(diff.stdout.contains("rate.failed -> odd.error else"), "{}", diff.stdout);
    let command = r#"[{"op": "connect", "from": "rate.failed", "to": "odd.error", "else": true}]"#;
    folder.write("edit.json", command);
    stave(&folder, ["edit", "before.yaml", "--ops", "edit.json"]).finish().await.exits(0);
    assert!(folder.read("before.yaml").contains("else: true"), "{}", folder.read("before.yaml"));
    let same = stave(&folder, ["diff", "before.yaml", "flow.yaml"]).finish().await;
    assert!(same.stdout.contains("the flows mean the same"), "{}", same.stdout);
    stave(&folder, ["fmt", "flow.yaml"]).finish().await.exits(0);
    assert_eq!(folder.read("flow.yaml").matches("else: true").count(), 2);
}
