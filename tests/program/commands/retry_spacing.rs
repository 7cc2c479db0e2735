//! The waits between attempts: `retry.backoff_ms` of a document or a workflow is the wait that it says.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::process::stave;
use crate::scripted::{Call, Reply, Server, serve};

const BACKOFF_MS: u64 = 150;

/// A host that fails every request, and when each came.
async fn failing() -> (Server, Arc<Mutex<Vec<Instant>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let server = serve(move |_: Call| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        async { Reply::json(503, "{}") }
    })
    .await;
    (server, asked)
}

fn waits(asked: &Mutex<Vec<Instant>>) -> Vec<Duration> {
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    asked.windows(2).map(|pair| pair[1].duration_since(pair[0])).collect()
}

#[tokio::test]
async fn a_workflow_and_its_document_wait_as_long_as_they_say_each_time() {
    let (server, asked) = failing().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write(
        "plant.wdl",
        format!(
            "version: 1\nworkflow: plant\nsteps:\n  - read(http.get) retry=5 backoff_ms={BACKOFF_MS}:\n      url: http://127.0.0.1:{}/\n",
            server.port
        ),
    );
    stave(&folder, ["run", "plant.wdl", "--json"]).input("{}").finish().await.exits(1);
    stave(&folder, ["compile", "plant.wdl", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    let by_source = waits(&asked);
    assert_eq!(by_source.len(), 5);
    asked.lock().unwrap_or_else(PoisonError::into_inner).clear();
    stave(&folder, ["run", "out/flows/plant.ir.json", "--json"]).input("{}").finish().await.exits(1);
    let by_document = waits(&asked);
    assert_eq!(by_document.len(), 5);
    for wait in by_source.iter().chain(&by_document) {
        assert!(*wait >= Duration::from_millis(BACKOFF_MS), "{by_source:?} {by_document:?}");
    }
}

#[tokio::test]
async fn a_flow_asks_for_jitter_in_its_document() {
    let folder = Folder::new();
    folder.write(
        "look.yaml",
        r#"version: "1.0"
metadata: {name: look}
context: {requires: []}
nodes:
  look:
    type: transform
    inputs: []
    outputs: [{name: a, type: object}]
    transform:
      mode: declarative
      spec: {op: http.get, args: {url: "https://api.example.com/"}}
    runtime: {retries: 2, retry_backoff_ms: 400}
edges:
  - {from: look.a, to: _output.a}
"#,
    );
    stave(&folder, ["compile", "look.yaml", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    let document = stave_canon::parse(&folder.read("out/flows/look.ir.json")).expect("it is JSON");
    let nodes = document.pointer("/graph/nodes").and_then(Value::as_array).expect("nodes");
    let look = nodes.iter().find(|node| node.get("id") == Some(&"look".into())).expect("the node");
    assert_eq!(look.get("retry_spacing"), Some(&"exponential_jitter".into()), "{look}");
    let shown = stave(&folder, ["exec", "show", "out/flows/look.ir.json"]).finish().await.exits(0);
    assert!(shown.stdout.contains("2, up to 400 ms apart, doubling"), "{shown}");
    folder
        .write("bad.ir.json", folder.read("out/flows/look.ir.json").replace("exponential_jitter", "linear"));
    let refused = stave(&folder, ["run", "bad.ir.json", "--json"]).input("{}").finish().await;
    assert!(refused.code == 2 && refused.stdout.contains("exec-unknown-word"), "{refused}");
}
