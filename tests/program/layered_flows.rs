//! Flows of many layers with two edges between neighbours: the ways through them are more than anybody could follow, and
//! whatever reads a flow still ends.

use stave_canon::Value;

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::serve::{Served, echo, project};

/// Nodes that hand their input on, one after the other, each fed twice by the one before.
fn layered(name: &str, layers: usize) -> String {
    let nodes = (0..layers).map(|at| {
        format!(
            r#"  n{at}:
    type: transform
    inputs: [{{name: a, type: string}}, {{name: b, type: string}}]
    outputs: [{{name: x, type: string}}]
    transform: {{mode: code, spec: "def transform(inputs, context, state):\n    return {{'x': inputs['a']}}\n"}}
"#
        )
    });
    let edges = (0..layers).map(|at| {
        let from = at.checked_sub(1).map_or("_input.query".to_owned(), |before| format!("n{before}.x"));
        format!("  - {{from: {from}, to: n{at}.a}}\n  - {{from: {from}, to: n{at}.b}}\n")
    });
    let (nodes, edges) = (nodes.collect::<String>(), edges.collect::<String>());
    let last = layers - 1;
    format!(
        "version: \"1.0\"\nmetadata: {{name: {name}}}\ncontext: {{requires: [query]}}\nnodes:\n{nodes}{ASK}edges:\n{edges}  \
         - {{from: n{last}.x, to: ask.q}}\n  - {{from: ask.a, to: _output.reply}}\n"
    )
}

const ASK: &str = r#"  ask:
    type: transform
    inputs: [{name: q, type: string}]
    outputs: [{name: a, type: string}]
    prompt: {template: "{{ q }}", model: {provider: openai, name: gpt-4o-mini}}
"#;

const RECORDING: &str =
    "version: 1\nexchanges:\n  - match: {contains: \"hi\"}\n    response: {content: \"there\"}\n";

#[tokio::test]
async fn a_flow_of_many_layers_is_checked_drawn_compiled_and_run() {
    let folder = Folder::new();
    folder.write("layers.yaml", layered("layers", 40));
    folder.write("recording.yaml", RECORDING);
    stave(&folder, ["check", "layers.yaml"]).finish().await.exits(0);
    for format in ["svg", "mermaid", "dot"] {
        stave(&folder, ["graph", "layers.yaml", "--format", format]).finish().await.exits(0);
    }
    stave(&folder, ["compile", "layers.yaml", "--out", "out"]).finish().await.exits(0);
    let arguments = ["run", "layers.yaml", "--input", "-", "--replay", "recording.yaml"];
    let run = stave(&folder, arguments).input(r#"{"query": "hi"}"#).finish().await.exits(0);
    assert_eq!(run.json().get("reply"), Some(&"there".into()), "{run}");
}

#[tokio::test]
async fn a_flow_of_many_layers_has_lines_and_is_reloaded_beside_others() {
    let folder = project();
    let mut served = Served::start(&folder, &[]).await;
    let body = Value::from_iter([("path", "flows/echo.yaml".to_owned()), ("text", layered("echo", 40))]);
    let lines = served.post("/studio/lines", &body.to_string()).await.is(200).json();
    let parts = items(&lines, "parts").iter().filter_map(|part| text(part, "id"));
    assert_eq!(parts.filter(|id| id.starts_with("node:n")).count(), 40);
    served.post("/studio/analyse", &body.to_string()).await.is(200);

    folder.write("flows/layers.yaml", layered("layers", 40));
    served.process.wait_for_stderr("`layers`").await;
    folder.write("flows/more.yaml", echo("").replace("name: echo", "name: more"));
    served.process.wait_for_stderr("`more`").await;
    served.get("/v2/models/layers").await.is(200);
}

#[tokio::test]
async fn the_lines_of_a_very_long_text_are_not_made() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let long = format!("{}# {}\n", echo(""), "x".repeat(600 * 1024));
    let body = Value::from_iter([("path", "flows/echo.yaml".to_owned()), ("text", long)]);
    served.post("/studio/lines", &body.to_string()).await.problem(413, "body-too-large");
    served.post("/studio/analyse", &body.to_string()).await.is(200);
}
