//! What a flow or a request says takes down a run at most, never the process: the process ends by itself and
//! the run has an end in the journal. So a process that dies was killed from outside, and its runs are resumed.

use std::fmt::Write as _;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::text;
use crate::process::stave;

/// A flow of as many nodes, each of which wraps its input so many levels deeper.
fn wrapping(nodes: usize, levels: usize) -> String {
    let (open, close) = ("{a: ".repeat(levels), "}".repeat(levels));
    let mut flow =
        "version: \"1.0\"\nmetadata: {name: wrapping}\ncontext: {requires: [x]}\nnodes:\n".to_owned();
    let mut edges = "edges:\n  - {from: _input.x, to: n0.x}\n".to_owned();
    for node in 0..nodes {
        let _ = write!(
            flow,
            "  n{node}:\n    type: transform\n    inputs: [{{name: x, type: object}}]\n    outputs: [{{name: y, type: object}}]\n    transform: {{mode: declarative, spec: {{op: io.format_response, args: {{template: {open}\"${{x}}\"{close}}}}}}}\n"
        );
        let to = if node + 1 == nodes { "_output.y".to_owned() } else { format!("n{}.x", node + 1) };
        let _ = writeln!(edges, "  - {{from: n{node}.y, to: {to}}}");
    }
    flow + &edges
}

/// A flow whose one output has this schema.
fn judged(schema: &str) -> String {
    format!(
        "version: \"1.0\"\nmetadata: {{name: judged}}\ncontext: {{requires: [x]}}\nnodes:\n  give:\n    type: transform\n    inputs: [{{name: x, type: object}}]\n    outputs: [{{name: y, type: object, schema: {schema}}}]\n    transform: {{mode: declarative, spec: {{op: io.format_response, args: {{template: \"${{x}}\"}}}}}}\nedges:\n  - {{from: _input.x, to: give.x}}\n  - {{from: give.y, to: _output.y}}\n"
    )
}

/// The process ends by itself, with the code of a failed run or of a flow that is invalid, and the run can be read.
async fn ends_by_itself(flow: String, request: &str) {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", &flow);
    let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).input(request).finish().await;
    let first: String = flow.chars().take(400).collect();
    assert!((0..=3).contains(&run.code), "{first}: {run}");
    if let Some(id) =
        stave_canon::parse(&run.stdout).ok().and_then(|run| text(&run, "run_id").map(str::to_owned))
    {
        let shown = stave(&folder, ["runs", "show", &id, "--json"]).finish().await.exits(0).json();
        assert!(matches!(text(&shown, "status"), Some("ok" | "error")), "{first}: {shown}");
    }
}

#[tokio::test]
async fn values_that_grow_deeper_with_each_step_fail_a_step() {
    ends_by_itself(wrapping(3, 60), r#"{"x": {}}"#).await;
    ends_by_itself(wrapping(150, 60), r#"{"x": {}}"#).await;
    let deep = format!("{{\"x\": {}{}}}", "{\"a\": ".repeat(250) + "1", "}".repeat(250));
    ends_by_itself(wrapping(2, 10), &deep).await;
}

#[tokio::test]
async fn schemas_that_refer_to_themselves_end() {
    for schema in [
        "{$ref: \"#\"}",
        "{allOf: [{$ref: \"#\"}]}",
        "{$defs: {a: {$ref: \"#/$defs/b\"}, b: {$ref: \"#/$defs/a\"}}, $ref: \"#/$defs/a\"}",
        "{properties: {a: {$ref: \"#\"}}}",
    ] {
        ends_by_itself(judged(schema), r#"{"x": {"a": {"a": {}}}}"#).await;
    }
}
