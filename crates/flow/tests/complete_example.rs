//! The specification's Complete Example, exactly as it is printed there.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use stave_canon::Value;
use stave_diag::{LineColumn, SourceId, Sources, render};
use stave_flow::{CheckOptions, load};

const ROWS: &str = include_str!("../../../tests/vectors/flow/check.jsonl");

fn example() -> String {
    let mut rows = ROWS.lines().map(|line| stave_canon::parse(line).unwrap());
    let row = rows.find(|row| row.get("name").and_then(Value::as_str) == Some("spec_example_as_printed"));
    row.as_ref().and_then(|row| row.pointer("/input/yaml")).and_then(Value::as_str).unwrap().to_owned()
}

/// The node that the example's last edge leads to and that the example leaves out.
const ERROR_HANDLER: &str = r#"
  error_handler:
    type: transform
    inputs: [{name: error, type: object}]
    outputs: [{name: reply, type: object}]
    transform:
      mode: declarative
      spec:
        op: io.format_response
        args: {template: {status: error, reason: "${error.reason}"}}

edges:
"#;

fn findings(text: &str, strict: bool) -> (Vec<stave_diag::Diagnostic>, Sources) {
    let mut sources = Sources::new();
    let source = sources.add("customer_service_agent.yaml", text);
    (load(source, text, &CheckOptions { strict, ..CheckOptions::default() }).diagnostics, sources)
}

fn completed() -> String {
    example().replacen("\nedges:\n", ERROR_HANDLER, 1).replacen(
        "\ndeployment:",
        "\n  - from: error_handler.reply\n    to: _output\n\ndeployment:",
        1,
    )
}

#[test]
fn it_has_one_error_the_dangling_edge() {
    let (mut findings, sources) = findings(&example(), false);
    findings.retain(stave_diag::Diagnostic::is_error);
    let [dangling] = findings.as_slice() else { panic!("{}", render::short::render(&findings, &sources)) };
    assert_eq!(dangling.code.0, "dangling-edge");
    assert!(dangling.is_error());
    let (start, end) = sources.place(dangling.primary).unwrap();
    assert_eq!(start, LineColumn { line: 211, column: 9 });
    assert_eq!(end, LineColumn { line: 211, column: 22 });
    assert_eq!(sources.slice(dangling.primary), "error_handler");
}

#[test]
fn with_the_missing_node_only_its_deployment_is_doubted() {
    let (findings, sources) = findings(&completed(), false);
    let codes: Vec<&str> = findings.iter().map(|found| found.code.0).collect();
    assert_eq!(codes, ["memory-across-replicas"; 2], "{}", render::short::render(&findings, &sources));
    assert!(findings.iter().all(|found| !found.is_error()));
    let flow = stave_flow::parse(SourceId(0), &completed()).flow.unwrap();
    let faults = stave_flow::deployment_faults(&flow, stave_flow::SharedStores::default());
    assert!(faults.len() == 2 && faults.iter().all(stave_diag::Diagnostic::is_error), "{faults:?}");
}

#[test]
fn the_strict_dialect_names_every_leniency() {
    let (findings, sources) = findings(&completed(), true);
    insta::assert_snapshot!(render::short::render(&findings, &sources));
}
