//! Restricted values are not shown to a reader of a run who does not ask for them.

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::text;
use crate::process::stave;

const SECRET: &str = "DE89370400440532013000";

const FLOW: &str = r#"version: "1.0"
metadata: {name: payer}
context: {requires: [iban, name], sensitivity: {iban: restricted}}
nodes:
  copy:
    type: transform
    inputs: [{name: iban, type: string}, {name: name, type: string}]
    outputs: [{name: line, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            print('paying', inputs['iban'])
            return {'line': inputs['name'] + ' ' + inputs['iban']}
  greet:
    type: transform
    inputs: [{name: name, type: string}]
    outputs: [{name: text, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "hello ${name}"}}}
  check:
    type: transform
    inputs: [{name: line, type: string}]
    outputs: [{name: ok, type: boolean}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            raise ValueError('not payable: ' + inputs['line'])
    runtime: {retries: 0}
edges:
  - {from: _input.iban, to: copy.iban}
  - {from: _input.name, to: copy.name}
  - {from: _input.name, to: greet.name}
  - {from: copy.line, to: check.line}
  - {from: check.ok, to: _output.ok}
  - {from: greet.text, to: _output.text}
"#;

#[tokio::test]
async fn a_failure_that_names_fields_only_is_not_hidden() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", FLOW);
    let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).input(r#"{"name": "Jane"}"#);
    let id = text(&run.finish().await.json(), "run_id").unwrap().to_owned();
    let shown = stave(&folder, ["runs", "show", &id, "--json"]).finish().await.exits(0).json();
    assert_eq!(shown.pointer("/error/message"), Some(&"the request lacks `iban`".into()), "{shown}");
    // A message that quotes a value of the request stays hidden.
    let request = format!(r#"{{"iban": "x", "name": "Jane", "event_time": "{SECRET}"}}"#);
    let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).input(&request);
    let id = text(&run.finish().await.json(), "run_id").unwrap().to_owned();
    let shown = stave(&folder, ["runs", "show", &id, "--json"]).finish().await.exits(0).json();
    let message = shown.pointer("/error/message").and_then(|message| message.as_str()).unwrap();
    assert!(message.contains("[restricted]") && !message.contains(SECRET), "{shown}");
}

#[tokio::test]
async fn runs_show_report_export_and_why_hide_restricted_values() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", FLOW);
    let request = format!(r#"{{"iban": "{SECRET}", "name": "Jane"}}"#);
    let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).input(&request).finish().await;
    let id = text(&run.exits(1).json(), "run_id").unwrap().to_owned();
    for command in [
        vec!["runs", "show", &id, "--json"],
        vec!["runs", "show", &id],
        vec!["runs", "report", &id],
        vec!["runs", "export", &id],
        vec!["runs", "export", "--all", "--json"],
        vec!["why", &id, "check"],
        vec!["why", &id, "copy", "--json"],
    ] {
        let hidden = stave(&folder, command.clone()).finish().await.exits(0);
        let told = format!("{}{}", hidden.stdout, hidden.stderr);
        assert!(!told.contains(SECRET) && told.contains("[restricted]"), "{command:?}: {told}");
        let shown = [command.clone(), vec!["--show-restricted"]].concat();
        let shown = stave(&folder, shown).finish().await.exits(0);
        assert!(format!("{}{}", shown.stdout, shown.stderr).contains(SECRET), "{command:?}");
    }
    let shown = stave(&folder, ["runs", "show", id.as_str(), "--json"]).finish().await.exits(0);
    assert!(shown.stdout.contains("hello Jane"), "what is not restricted is shown: {}", shown.stdout);
}

const ASKING: &str = r#"version: "1.0"
metadata: {name: asker}
context: {requires: [iban], sensitivity: {iban: restricted}}
nodes:
  ask:
    type: transform
    inputs: [{name: iban, type: string}]
    outputs: [{name: iban, type: string}]
    transform: {mode: declarative, spec: {op: human.approve, args: {message: "Pay ${iban}?"}}}
edges:
  - {from: _input.iban, to: ask.iban}
  - {from: ask.iban, to: _output.iban}
"#;

#[tokio::test]
async fn the_comment_on_a_restricted_question_is_hidden_with_it() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", ASKING);
    let request = format!(r#"{{"iban": "{SECRET}"}}"#);
    let run = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).input(&request).finish().await;
    let id = text(&run.json(), "run_id").unwrap().to_owned();
    let comment = format!("{SECRET} is known");
    let approve = ["runs", "approve", id.as_str(), "ask", "--by", "ann", "--comment", comment.as_str()];
    stave(&folder, approve).finish().await.exits(0);
    for command in [
        vec!["runs", "show", &id, "--json"],
        vec!["runs", "show", &id],
        vec!["runs", "report", &id],
        vec!["runs", "export", &id],
    ] {
        let hidden = stave(&folder, command.clone()).finish().await.exits(0);
        let told = format!("{}{}", hidden.stdout, hidden.stderr);
        assert!(!told.contains(SECRET) && told.contains("user:ann"), "{command:?}: {told}");
        let shown = [command.clone(), vec!["--show-restricted"]].concat();
        let shown = stave(&folder, shown).finish().await.exits(0);
        let told = format!("{}{}", shown.stdout, shown.stderr);
        assert!(told.contains(&comment), "{command:?}: {told}");
    }
}
