//! `stave exec`: documents shown, validated, drawn and compared; for people, for machines, and when the
//! file is not a document.

use stave_canon::Value;

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

const WORKFLOW: &str = "\
version: dsl/v0
workflow: plant.monitor timeout_ms=600000
inputs:
  mode: string
steps:
  - read(http.get) timeout_ms=500 retry=2 backoff_ms=100:
      url: https://plant.example.com/read
  - when $input.mode == \"full\":
      act(http.post):
        url: https://plant.example.com/act
outputs:
  reading: $step.read.body
";

const DOCUMENT: &str = "out/flows/plant.monitor.ir.json";

async fn compiled() -> Folder {
    let folder = Folder::new();
    folder.write("plant.wdl", WORKFLOW);
    let compile = ["compile", "plant.wdl", "--out", "out", "--emit", "exec"];
    stave(&folder, compile).env("SOURCE_DATE_EPOCH", "1719771943").finish().await.exits(0);
    folder
}

/// Lines without the spaces at their ends, which a table fills up.
fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_document_is_shown() {
    let folder = compiled().await;
    let shown = stave(&folder, ["exec", "show", DOCUMENT]).finish().await.exits(0);
    insta::assert_snapshot!(trimmed(&shown.stdout));
    let object = stave(&folder, ["exec", "show", DOCUMENT, "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&object, "name"), Some("plant.monitor"));
    assert_eq!(object.pointer("/nodes/0/retry/max").and_then(Value::as_i64), Some(2));
    assert_eq!(object.pointer("/edges/0/case").and_then(Value::as_str), Some("full"), "{object}");
    let manifest = stave(&folder, ["exec", "show", "out/manifest.json"]).finish().await.exits(0);
    assert!(manifest.stdout.contains("flows/plant.monitor.ir.json"), "{manifest}");
    let manifest = stave(&folder, ["exec", "show", "out/manifest.json", "--json"]).finish().await.exits(0);
    assert_eq!(items(&manifest.json(), "flows").len(), 1);
}

#[tokio::test]
async fn a_document_is_drawn() {
    let folder = compiled().await;
    let mermaid = stave(&folder, ["exec", "graph", DOCUMENT]).finish().await.exits(0).stdout;
    assert!(mermaid.starts_with("flowchart LR") && mermaid.contains("|\"full\"|"), "{mermaid}");
    let dot = stave(&folder, ["exec", "graph", DOCUMENT, "--format", "dot"]).finish().await.exits(0).stdout;
    assert!(dot.starts_with("digraph"), "{dot}");
    let svg = stave(&folder, ["exec", "graph", DOCUMENT, "--format", "svg"]).finish().await.exits(0).stdout;
    assert!(svg.starts_with("<svg"), "{svg}");
    let object = stave(&folder, ["exec", "graph", DOCUMENT, "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&object, "format"), Some("mermaid"));
    assert_eq!(text(&object, "graph").map(str::trim_end), Some(mermaid.trim_end()));
}

#[tokio::test]
async fn documents_are_compared_by_what_runs() {
    let folder = compiled().await;
    let before = folder.read(DOCUMENT);
    folder.write("before.ir.json", &before);
    folder.write("later.ir.json", before.replace("2024-06-30", "2025-06-30"));
    let same = stave(&folder, ["exec", "diff", "before.ir.json", "later.ir.json"]).finish().await.exits(0);
    assert_eq!((same.stdout.as_str(), same.stderr.as_str()), ("", "the documents run the same\n"));
    folder.write("plant.wdl", WORKFLOW.replace("retry=2", "retry=3").replace("\"full\"", "\"half\""));
    let compile = ["compile", "plant.wdl", "--out", "out", "--emit", "exec"];
    stave(&folder, compile).env("SOURCE_DATE_EPOCH", "1719771943").finish().await.exits(0);
    let differs = stave(&folder, ["exec", "diff", "before.ir.json", DOCUMENT]).finish().await.exits(1);
    insta::assert_snapshot!(differs.stdout, @r#"
    - edge when_0 -> act case "full"
    + edge when_0 -> act case "half"
    ~ node read: /retry/max
    ~ node when_0: /with/cases/full, /with/cases/half
    "#);
    let object = stave(&folder, ["exec", "diff", "before.ir.json", DOCUMENT, "--json"]).finish().await;
    let object = object.exits(1).json();
    assert_eq!(object.get("same"), Some(&Value::Bool(false)));
    assert_eq!(object.pointer("/nodes/changed/0/id").and_then(Value::as_str), Some("read"), "{object}");
}

#[tokio::test]
async fn a_valid_document_is_valid_and_every_violation_of_another_is_told() {
    let folder = compiled().await;
    let fine = stave(&folder, ["exec", "validate", DOCUMENT]).finish().await.exits(0);
    assert_eq!(fine.stderr, "validated 1 document: no findings\n");
    let broken = folder
        .read(DOCUMENT)
        .replacen("\"success\"", "\"perhaps\"", 1)
        .replace("600000", "-1")
        .replace("\"id\": \"read\"", "\"id\": \"re ad\"");
    folder.write("broken.ir.json", broken);
    let report = stave(&folder, ["exec", "validate", "broken.ir.json", DOCUMENT, "--json"]).finish().await;
    let report = report.exits(2).json();
    let codes: Vec<&str> =
        items(&report, "diagnostics").iter().map(|found| text(found, "code").unwrap()).collect();
    assert_eq!(
        codes,
        ["exec-out-of-range", "exec-bad-identifier", "exec-unknown-transition", "exec-unknown-node"],
        "{report}"
    );
    assert_eq!(
        report.pointer("/documents/0/faults/0/pointer").and_then(Value::as_str),
        Some("/flow/timeout_ms")
    );
    assert_eq!(report.pointer("/documents/1/valid"), Some(&Value::Bool(true)));
}

const FLOW: &str = "\
version: '1.0'
metadata: {name: ports}
context: {requires: [x]}
nodes:
  double:
    type: transform
    inputs: [{name: x, type: number}]
    outputs: [{name: y, type: number}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {'y': inputs['x'] * 2}
edges:
  - {from: _input.x, to: double.x}
  - {from: double.y, to: _output.y}
";

#[tokio::test]
async fn a_fault_in_what_a_flow_adds_is_reported_by_every_command_before_a_run_begins() {
    let folder = Folder::new();
    folder.write("ports.yaml", FLOW);
    folder.write("request.json", "{\"context\": {\"x\": 2}}");
    stave(&folder, ["compile", "ports.yaml", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    let broken = folder
        .read("out/flows/ports.ir.json")
        .replacen("\"name\": \"y\"", "\"nome\": \"y\"", 1)
        .replacen("\"from_port\": \"x\"", "\"from_port\": 7", 1)
        .replacen("\"policy\": {}", "\"policy\": {\"limits\": {\"prompt_tokens\": \"x\"}}", 1);
    folder.write("broken.ir.json", broken);
    for command in [
        vec!["exec", "validate", "broken.ir.json"],
        vec!["check", "broken.ir.json"],
        vec!["run", "broken.ir.json", "--input", "request.json"],
    ] {
        let report = stave(&folder, &command).finish().await.exits(2);
        for said in [
            "error[exec-wrong-type]: must be an integer, not a string",
            "error[exec-missing-field]: `name` is missing",
            "error[exec-wrong-type]: must be a string, not an integer",
            "broken.ir.json:9:",
        ] {
            assert!(report.stderr.contains(said), "{command:?} {report}");
        }
    }
    let runs = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0);
    assert_eq!(runs.json().get("runs"), Some(&Value::Array(Vec::new())), "no run began: {runs}");
}

#[tokio::test]
async fn what_is_no_document_has_a_code_and_a_place() {
    let folder = compiled().await;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for (name, bytes, code, line) in [
        ("empty.ir.json", b"".to_vec(), "exec-not-json", 1),
        ("half.ir.json", b"{\n  \"version\": ".to_vec(), "exec-not-json", 2),
        ("binary.ir.json", b"{\n\"a\": \"\x00\xff\xfe\"}".to_vec(), "exec-not-json", 2),
        ("list.ir.json", b"17".to_vec(), "exec-wrong-type", 1),
        ("deep.ir.json", deep.into_bytes(), "exec-not-json", 1),
    ] {
        folder.write(name, bytes);
        for action in ["show", "graph", "validate"] {
            let human = stave(&folder, ["exec", action, name]).finish().await.exits(2);
            assert!(human.stderr.contains(&format!("error[{code}]")), "{action} {name}: {human}");
            assert!(human.stderr.contains(&format!("{name}:{line}:")), "{action} {name}: {human}");
            let object = stave(&folder, ["exec", action, name, "--json"]).finish().await.exits(2).json();
            let found = &items(&object, "diagnostics")[0];
            assert_eq!(text(found, "code"), Some(code), "{action} {name}: {object}");
            assert_eq!(found.get("line").and_then(Value::as_i64), Some(line), "{action} {name}: {object}");
        }
        let object =
            stave(&folder, ["exec", "diff", name, DOCUMENT, "--json"]).finish().await.exits(2).json();
        assert_eq!(text(&items(&object, "diagnostics")[0], "code"), Some(code), "{name}");
    }
}

#[tokio::test]
async fn one_file_that_is_not_there_hides_no_other() {
    let folder = compiled().await;
    folder.write("empty.ir.json", "");
    let files = ["exec", "validate", "nowhere.ir.json", "empty.ir.json", ".", DOCUMENT];
    let human = stave(&folder, files).finish().await.exits(2);
    assert!(human.stderr.contains("nowhere.ir.json can't be read"), "{human}");
    assert!(human.stderr.contains("empty.ir.json:1:1"), "{human}");
    let report = stave(&folder, files.into_iter().chain(["--json"])).finish().await.exits(2).json();
    let valid: Vec<Option<&Value>> = items(&report, "documents").iter().map(|one| one.get("valid")).collect();
    let (yes, no) = (Value::Bool(true), Value::Bool(false));
    assert_eq!(valid, [Some(&no), Some(&no), Some(&no), Some(&yes)], "{report}");
}

#[tokio::test]
async fn a_manifest_is_compared_with_its_documents() {
    let folder = compiled().await;
    for path in ["out", "out/manifest.json"] {
        let verified = stave(&folder, ["exec", "verify", path]).finish().await.exits(0);
        assert!(verified.stderr.contains("verified 1 document"), "{verified}");
    }
    let manifest = folder.read("out/manifest.json");
    folder
        .write("out/manifest.json", manifest.replace("http.get", "http.put").replace("sha256:", "sha256:0"));
    let report = stave(&folder, ["exec", "verify", "out", "--json"]).finish().await.exits(2).json();
    let found = items(&report, "diagnostics");
    let codes: Vec<Option<&str>> = found.iter().map(|one| text(one, "code")).collect();
    assert_eq!(codes, [Some("exec-bad-manifest"); 2], "{report}");
    assert!(found.iter().all(|one| one.get("line").and_then(Value::as_i64) > Some(1)), "{report}");
    folder.write("out/manifest.json", &manifest);
    folder.write("out/flows/old.ir.json", folder.read(DOCUMENT));
    let unlisted = stave(&folder, ["exec", "verify", "out"]).finish().await.exits(2);
    assert!(unlisted.stderr.contains("`flows/old.ir.json` is beside the manifest"), "{unlisted}");
    stave(&folder, ["exec", "verify", "nowhere"]).finish().await.exits(2);
}

#[tokio::test]
async fn a_document_of_a_later_version_runs_with_a_warning_and_its_transition_is_never_taken() {
    let folder = Folder::new();
    folder.write("later.ir.json", include_str!("../../../crates/exec/tests/migration/1.3.0.ir.json"));
    let run = stave(&folder, ["run", "later.ir.json"]).input("{}").finish().await.exits(0);
    assert!(run.stderr.contains("exec-later-version") && run.stderr.contains("never taken"), "{run}");
    let report =
        stave(&folder, ["run", "later.ir.json", "--json"]).input("{}").finish().await.exits(0).json();
    assert_eq!(report.pointer("/nodes/b/status").and_then(Value::as_str), Some("ok"), "{report}");
    assert_eq!(report.pointer("/nodes/c/status").and_then(Value::as_str), Some("skipped"), "{report}");
    let check = ["check", "--format", "json", "later.ir.json"];
    let found = stave(&folder, check).finish().await.exits(0).json();
    assert_eq!(items(&found, "diagnostics").len(), 2, "{found}");
    stave(&folder, ["exec", "validate", "later.ir.json"]).finish().await.exits(2);
    stave(&folder, ["exec", "validate", "later.ir.json", "--additive"]).finish().await.exits(0);
}

#[tokio::test]
async fn workflows_and_policies_are_compared_by_what_they_do() {
    const POLICY: &str = "version: 1\narms:\n  a:\n    x: 1\nevaluate:\n  y = arms.active.x\nemit:\n  y: y\n";
    let folder = Folder::new();
    folder.write("before.wdl", WORKFLOW);
    folder.write("moved.wdl", WORKFLOW.replace("inputs:", "# a note\n\ninputs:"));
    folder.write("after.wdl", WORKFLOW.replace("/read", "/measure"));
    folder.write("a/p.pdl", POLICY);
    folder.write("b/p.pdl", POLICY.replace("evaluate:", "# a note\nevaluate:"));
    folder.write("c/p.pdl", POLICY.replace("  y: y", "  y: y + 1"));
    for (before, after) in [("before.wdl", "moved.wdl"), ("a/p.pdl", "b/p.pdl")] {
        let same = stave(&folder, ["diff", before, after]).finish().await.exits(0);
        assert_eq!(same.stdout, "", "{same}");
    }
    let changed = stave(&folder, ["diff", "before.wdl", "after.wdl"]).finish().await.exits(1);
    assert_eq!(changed.stdout.trim_end(), "~ node read: /with/url", "{changed}");
    let changed = stave(&folder, ["diff", "a/p.pdl", "c/p.pdl", "--json"]).finish().await.exits(1).json();
    assert_eq!(items(&changed, "other"), [Value::from("/params/emit/y")], "{changed}");
    let unlike = stave(&folder, ["diff", "before.wdl", "a/p.pdl"]).finish().await.exits(2);
    assert!(unlike.stderr.contains("same kind"), "{unlike}");
}
