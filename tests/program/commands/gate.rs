//! What is restricted stays inside its scope: model calls are governed, and decisions are reported.

use stave_canon::Value;

use super::sample::{LOOPBACK, asker};
use crate::folder::Folder;
use crate::json::values;
use crate::process::{Finished, stave};
use crate::scripted::model::ModelScript;

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// A run of the flow with a secret in its request, and the bodies that the model was sent.
async fn run(project: &str, change: impl Fn(String) -> String) -> (Finished, Vec<String>) {
    let model = ModelScript::new(&values(r#"[{"content": "Yes."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", format!("{LOOPBACK}{project}"));
    folder.write("flow.yaml", change(asker(server.port)));
    let request = format!(r#"{{"q": "Is {SECRET} a good key?"}}"#);
    let arguments = ["run", "flow.yaml", "--ephemeral", "--input", "-", "--json"];
    let finished = stave(&folder, arguments).input(&request).finish().await;
    let log = model.log.lock();
    let sent = log.calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned()).collect();
    (finished, sent)
}

fn flagged(finished: &Finished) -> String {
    finished.json().pointer("/nodes/ask/flagged").map(Value::to_string).unwrap_or_default()
}

#[tokio::test]
async fn a_secret_in_a_prompt_is_taken_out_on_its_way_and_that_is_told() {
    let (finished, sent) = run("", |flow| flow).await;
    let finished = finished.exits(0);
    assert_eq!(sent.len(), 1);
    assert!(sent[0].contains("Is [redacted aws_access_key] a good key?"), "{}", sent[0]);
    assert!(!sent[0].contains(SECRET));
    let flagged = flagged(&finished);
    assert!(
        flagged.contains("restricted content (aws_access_key)") && !flagged.contains(SECRET),
        "{flagged}"
    );
}

#[tokio::test]
async fn a_policy_can_refuse_it_instead() {
    let (finished, sent) = run("\n[accepts]\nrestricted = \"refuse\"\n", |flow| flow).await;
    let finished = finished.exits(3);
    assert_eq!(sent, Vec::<String>::new());
    let error = finished.json().get("error").map(Value::to_string).unwrap_or_default();
    assert!(error.contains("aws_access_key") && !error.contains(SECRET), "{error}");
}

#[tokio::test]
async fn a_model_inside_the_scope_gets_it_as_it_is() {
    let accepts = "\n[accepts.hosts]\n\"127.0.0.1\" = \"restricted\"\n";
    let label =
        |flow: String| flow.replace("{requires: [q]}", "{requires: [q], sensitivity: {q: restricted}}");
    let (finished, sent) = run(accepts, label).await;
    finished.exits(0);
    assert!(sent[0].contains(SECRET), "{}", sent[0]);
}

#[tokio::test]
async fn a_model_that_takes_public_data_only_gets_nothing_private() {
    let accepts = "\n[accepts.hosts]\n\"127.0.0.1\" = \"public\"\n";
    let private = |flow: String| flow.replace("You answer briefly.", "Write to jane.doe@example.com.");
    let (finished, sent) = run(accepts, private).await;
    finished.exits(3);
    assert_eq!(sent, Vec::<String>::new());
}

/// A flow that sends private data to a host that only the request decides.
const DYNAMIC_HOST: &str = r#"version: "1.0"
metadata: {name: sender}
context: {requires: [place, note], sensitivity: {note: private}}
nodes:
  send:
    type: transform
    inputs: [{name: place, type: string}]
    outputs: [{name: data, type: object}]
    transform: {mode: declarative, spec: {op: http.post, args: {url: "http://${place}/", body: "${context.note}"}}}
    runtime: {retries: 0}
edges:
  - {from: _input.place, to: send.place}
  - {from: send.data, to: _output}
"#;

#[tokio::test]
async fn a_host_that_the_run_decides_is_held_to_its_scope() {
    let folder = Folder::new();
    folder.write("stave.toml", format!("{LOOPBACK}\n[accepts.hosts]\n\"127.0.0.1\" = \"public\"\n"));
    folder.write("flow.yaml", DYNAMIC_HOST);
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
    let request = r#"{"place": "127.0.0.1:9", "note": "for us only"}"#;
    let arguments = ["run", "flow.yaml", "--ephemeral", "--input", "-", "--json"];
    let finished = stave(&folder, arguments).input(request).finish().await.exits(3);
    let error = finished.json().get("error").map(Value::to_string).unwrap_or_default();
    assert!(error.contains("sensitive-data-leak") && error.contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_prompt_that_prints_the_whole_context_is_refused() {
    let label =
        |flow: String| flow.replace("{requires: [q]}", "{requires: [q], sensitivity: {q: restricted}}");
    for template in ["{{ context | tojson }}", "{{ context }}", "{{ context.values() | list }}"] {
        let change = |flow: String| label(flow).replace("{{ text }}", template).replace("{{ q }}", template);
        let (finished, sent) = run("", change).await;
        finished.exits(2);
        assert_eq!(sent, Vec::<String>::new(), "{template}");
    }
}

/// A flow that keeps a note of the request, and one of the same name that sends what it finds to a host.
const KEEPS: &str = r#"version: "1.0"
metadata: {name: notes}
context: {requires: [note, session_id], sensitivity: {note: restricted}}
nodes:
  keep:
    type: transform
    inputs: [{name: note, type: string}]
    outputs: [{name: done, type: boolean}]
    state: {scope: session, key: "n_{session_id}"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            await state.set('note', inputs['note'])
            return {'done': True}
edges:
  - {from: _input.note, to: keep.note}
  - {from: keep.done, to: _output.done}
"#;

const READS: &str = r#"version: "1.0"
metadata: {name: notes}
context: {requires: [session_id]}
nodes:
  find:
    type: transform
    inputs: []
    outputs: [{name: note, type: string}]
    state: {scope: session, key: "n_{session_id}"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            try:
                return {'note': await state.get('note', '')}
            except Exception as e:
                return {'note': str(e)}
edges:
  - {from: find.note, to: _output.note}
"#;

#[tokio::test]
async fn a_state_record_keeps_its_label_for_a_later_version_of_the_flow() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", KEEPS);
    let run = ["run", "flow.yaml", "--input", "-", "--json"];
    let request = format!(r#"{{"note": "{SECRET}", "session_id": "s"}}"#);
    stave(&folder, run).input(&request).finish().await.exits(0);
    folder.write("flow.yaml", READS);
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
    let refused = stave(&folder, run).input(r#"{"session_id": "s"}"#).finish().await.exits(3);
    let error = refused.json().get("error").map(Value::to_string).unwrap_or_default();
    assert!(error.contains("sensitive-data-leak") && error.contains("restricted"), "{error}");
    assert!(!format!("{}{}", refused.stdout, refused.stderr).contains(SECRET));
    // Another session has no such record.
    stave(&folder, run).input(r#"{"session_id": "t"}"#).finish().await.exits(0);
    folder.write("flow.yaml", READS.replace("scope: session,", "scope: session, sensitivity: restricted,"));
    let read = stave(&folder, run).input(r#"{"session_id": "s"}"#).finish().await.exits(0);
    assert!(read.stdout.contains(SECRET), "a flow that is checked for it gets it: {}", read.stdout);
}

#[tokio::test]
async fn a_request_with_two_equal_keys_is_refused() {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", KEEPS);
    let run = ["run", "flow.yaml", "--input", "-", "--json"];
    let request = r#"{"note": "a", "session_id": "s", "note": "b"}"#;
    let refused = stave(&folder, run).input(request).finish().await.exits(2);
    assert!(refused.stdout.contains("duplicate key"), "{refused}");
}
