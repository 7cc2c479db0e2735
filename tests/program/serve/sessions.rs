//! Turns of one session: they queue, and their history is kept once.

use std::collections::BTreeSet;

use stave_canon::Value;

use super::client::{Served, ask};
use super::sample::project;
use crate::folder::Folder;
use crate::json::values;
use crate::scripted::host::HostScript;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Posts to a host, then counts in the session.
fn counter(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: counter}}
context: {{requires: [session_id, text]}}
nodes:
  post:
    type: transform
    inputs: [{{name: text, type: string}}]
    outputs: [{{name: text, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/post", body: "${{text}}"}}}}}}
    runtime: {{timeout_ms: 60000, retries: 0}}
  count:
    type: transform
    inputs: [{{name: text, type: object}}]
    outputs: [{{name: count, type: number}}]
    state: {{scope: session, key: "count_{{session_id}}"}}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            count = await state.get("count", 0) + 1
            await state.set("count", count)
            return {{"count": count}}
    runtime: {{timeout_ms: 60000, retries: 0}}
edges:
  - {{from: _input.text, to: post.text}}
  - {{from: post.text, to: count.text}}
  - {{from: count.count, to: _output.count}}
"#
    )
}

#[tokio::test]
async fn parallel_turns_of_one_session_all_succeed_and_count_each_other() {
    let script =
        HostScript::new(&values(r#"[{"method": "POST", "path": "/post", "json": {}, "times": 64}]"#));
    let host = script.serve().await;
    let folder = project();
    folder.write("flows/counter.yaml", counter(host.port));
    let one = Served::start(&folder, &["--max-runs", "64"]).await;
    let mut turns = tokio::task::JoinSet::new();
    for number in 0..64 {
        let port = one.port;
        turns.spawn(async move {
            let body = format!(r#"{{"session_id": "s", "text": "{number}"}}"#);
            ask(port, "POST", "/v1/models/counter:predict", &JSON, None, Some(&body)).await.is(200).json()
        });
    }
    let counts: BTreeSet<Option<i64>> =
        turns.join_all().await.iter().map(|answer| answer.get("count").and_then(Value::as_i64)).collect();
    assert_eq!(counts, (1..=64).map(Some).collect());
    assert_eq!(script.log.lock().calls.len(), 64, "each effect happened once");
}

/// Appends to a history, and hands it on from step to step.
const CHAT: &str = r#"version: "1.0"
metadata: {name: chat}
context: {requires: [session_id, text]}
nodes:
  remember:
    type: transform
    inputs: [{name: text, type: string}]
    outputs: [{name: history, type: array}, {name: transcript, type: string}]
    state: {scope: session, key: "chat_{session_id}"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            history = await state.get("history", [])
            history.append({"role": "user", "text": inputs["text"]})
            await state.set("history", history)
            return {"history": history, "transcript": "".join(turn["text"] for turn in history)}
  look:
    type: transform
    inputs: [{name: history, type: array}, {name: transcript, type: string}]
    outputs: [{name: turns, type: number}, {name: letters, type: number}, {name: history, type: array}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            history = inputs["history"]
            return {"turns": len(history), "letters": len(inputs["transcript"]), "history": history}
edges:
  - {from: _input.text, to: remember.text}
  - {from: remember.history, to: look.history}
  - {from: remember.transcript, to: look.transcript}
  - {from: look.turns, to: _output.turns}
  - {from: look.letters, to: _output.letters}
"#;

/// The bytes in use in the project's database.
fn used(folder: &Folder) -> i64 {
    let database = rusqlite::Connection::open(folder.path().join(".stave/stave.sqlite")).unwrap();
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    (pragma("page_count") - pragma("freelist_count")) * pragma("page_size")
}

#[tokio::test]
async fn a_session_takes_room_for_its_turns_and_not_for_their_square() {
    let folder = project();
    folder.write("flows/chat.yaml", CHAT);
    let served = Served::start(&folder, &[]).await;
    let mut last = Value::Null;
    let mut sizes = vec![used(&folder)];
    for number in 0..120_usize {
        let text = format!("{number:04} {}", "what was said ".repeat(42));
        let body = format!(r#"{{"session_id": "s", "text": "{text}"}}"#);
        last = served.post("/v1/models/chat:predict", &body).await.is(200).json();
        assert_eq!(last.get("turns").and_then(Value::as_i64), i64::try_from(number + 1).ok(), "{last}");
        if number == 59 || number == 119 {
            sizes.push(used(&folder));
        }
    }
    assert_eq!(last.get("letters").and_then(Value::as_i64), Some(120 * 593), "{last}");
    let (first, second) = (sizes[1] - sizes[0], sizes[2] - sizes[1]);
    assert!(second * 2 < first * 3, "the first half took {first} bytes, the second {second}");
    // What was kept by reference is shown whole.
    let listed = served.get("/runs?flow=chat&limit=1").await.is(200).json();
    let run = listed.pointer("/runs/0/run_id").and_then(Value::as_str).unwrap().to_owned();
    let shown = crate::process::stave(&folder, ["runs", "show", &run, "--json"]).finish().await.exits(0);
    assert!(shown.stdout.contains("0000 what was said") && shown.stdout.contains("0119 what was said"));
    served.end().await;
    // When the runs are gone, the session's own history is left.
    crate::process::stave(&folder, ["runs", "gc", "--older-than", "0"]).finish().await.exits(0);
    let served = Served::start(&folder, &[]).await;
    let body = r#"{"session_id": "s", "text": "more"}"#;
    let next = served.post("/v1/models/chat:predict", body).await.is(200).json();
    assert_eq!(next.get("turns").and_then(Value::as_i64), Some(121), "{next}");
}
