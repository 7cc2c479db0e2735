//! Runs on Restate, begun, watched, decided on, cancelled, replayed and handed over: the same commands and the same
//! answers as with the embedded engine.

use std::time::Duration;

use stave_canon::Value;

use super::cluster::Cluster;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::{Finished, stave};
use crate::scripted::host::HostScript;
use crate::serve::client::{Served, ask};
use crate::serve::sample::{caller, careful, project};

/// Counts the turns of a session, and says which one this is.
const TURNS: &str = r#"version: "1.0"
metadata: {name: turns}
context: {requires: [session_id]}
nodes:
  count:
    type: transform
    inputs: [{name: session_id, type: string}]
    outputs: [{name: turn, type: number}]
    state: {scope: session, key: "turns_{session_id}"}
    transform:
      mode: code
      spec: |
        async def transform(inputs, context, state):
            turn = (await state.get("turns") or 0) + 1
            await state.set("turns", turn)
            return {"turn": turn}
edges:
  - {from: _input.session_id, to: count.session_id}
  - {from: count.turn, to: _output.turn}
"#;

/// Makes a large value and counts its letters in another step.
const LARGE: &str = r#"version: "1.0"
metadata: {name: large}
context: {requires: [size]}
nodes:
  make:
    type: transform
    inputs: [{name: size, type: number}]
    outputs: [{name: text, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {"text": "x" * inputs["size"]}
  count:
    type: transform
    inputs: [{name: text, type: string}]
    outputs: [{name: size, type: number}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {"size": len(inputs["text"])}
edges:
  - {from: _input.size, to: make.size}
  - {from: make.text, to: count.text}
  - {from: count.size, to: _output.size}
"#;

struct World {
    folder: Folder,
    cluster: Cluster,
    served: Served,
}

impl World {
    /// Serves a project whose own file names the engine.
    async fn start_as_set(folder: Folder) -> World {
        let cluster = Cluster::start(1);
        let settings = folder.read("stave.toml");
        let engine = format!(
            "[engine]\nkind = \"restate\"\nurl = \"{}\"\ningress = [\"{}\"]\nworker_listen = \"127.0.0.1:0\"\n",
            cluster.admin(),
            cluster.ingress()
        );
        folder.write("stave.toml", format!("{settings}{engine}"));
        let served = Served::start(&folder, &[]).await;
        World { folder, cluster, served }
    }

    async fn start(folder: Folder) -> World {
        let cluster = Cluster::start(1);
        let mut arguments = cluster.arguments();
        arguments.extend(["--worker-listen", "127.0.0.1:0"].map(str::to_owned));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let served = Served::start(&folder, &arguments).await;
        World { folder, cluster, served }
    }

    /// A command about runs, on Restate.
    async fn runs(&self, arguments: &[&str]) -> Finished {
        let mut all: Vec<String> = ["runs"].iter().chain(arguments).map(|text| (*text).to_owned()).collect();
        all.extend(self.cluster.arguments());
        all.push("--json".to_owned());
        stave(&self.folder, all).finish().await
    }

    async fn begin(&self, flow: &str, input: &str) -> String {
        let body = format!(r#"{{"flow": "{flow}", "input": {input}}}"#);
        let begun = self.served.post("/runs", &body).await.is(202).json();
        text(&begun, "run_id").expect("a run has an id").to_owned()
    }

    /// The run once it is no longer running.
    async fn settled(&self, run: &str) -> Value {
        for _ in 0..400 {
            let shown = self.served.get(&format!("/runs/{run}")).await.is(200).json();
            if text(&shown, "status") != Some("running") {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("run {run} does not end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_decide_and_runs_are_watched_cancelled_and_replayed_as_on_the_embedded_engine() {
    let folder = project();
    let page = r#"{"method": "GET", "path": "/slow", "delay_ms": 1500, "json": {"ok": true}, "times": 9}"#;
    let host = HostScript::new(&[stave_canon::parse(page).unwrap()]);
    let server = host.serve().await;
    folder.write("flows/caller.yaml", caller(server.port));
    let mut world = World::start(folder).await;
    let answer = world.served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"hi".into()));

    // A run waits for a person, keeps its document when the flow changes, and continues when it is approved.
    let run = world.begin("careful", r#"{"amount": 3}"#).await;
    let events = world.served.get(&format!("/runs/{run}/events")).await.is(200);
    assert!(events.body.contains("event: started") && events.body.contains("event: waiting"), "{events:?}");
    world.folder.write("flows/careful.yaml", careful("gave"));
    world.served.process.wait_for_stderr("serving `caller`, `careful`, `echo`\n").await;
    let waiting = world.runs(&["list", "--status", "waiting"]).await.exits(0).json();
    assert_eq!(items(&waiting, "runs").len(), 1, "{waiting}");
    let approved = world.runs(&["approve", &run, "ask", "--comment", "fine"]).await.exits(0).json();
    assert_eq!(approved.pointer("/output/paid"), Some(&"paid 3".into()), "{approved}");
    let again = world.served.post(&format!("/runs/{run}/nodes/ask/decision"), r#"{"approved": false}"#).await;
    again.is(409);
    let events = world.served.get(&format!("/runs/{run}/events")).await.is(200);
    assert!(
        events.body.contains(r#""node":"pay","status":"ok""#) && events.body.contains("event: ended"),
        "{events:?}"
    );

    // Another is denied over HTTP, and one is cancelled while it waits.
    let run = world.begin("careful", r#"{"amount": 4}"#).await;
    assert_eq!(text(&world.settled(&run).await, "status"), Some("waiting"));
    let decision = format!("/runs/{run}/nodes/ask/decision");
    world.served.post(&decision, r#"{"approved": false, "comment": "too much"}"#).await.is(202);
    let shown = world.settled(&run).await;
    assert_eq!(text(&shown, "status"), Some("error"), "{shown}");
    assert!(shown.to_string().contains("a person denied it: too much"), "{shown}");
    let run = world.begin("careful", r#"{"amount": 5}"#).await;
    assert_eq!(text(&world.settled(&run).await, "status"), Some("waiting"));
    let cancelled = world.runs(&["cancel", &run]).await.exits(0).json();
    assert_eq!(text(&cancelled, "status"), Some("cancelled"), "{cancelled}");
    world.served.post(&format!("/runs/{run}/resume"), "").await.problem(409, "run-ended");

    // One is cancelled while a step is at work, and one that ended is replayed.
    let run = world.begin("caller", r#"{"page": "slow"}"#).await;
    world.served.post(&format!("/runs/{run}/cancel"), "").await.is(202);
    assert_eq!(text(&world.settled(&run).await, "status"), Some("cancelled"));
    let run = world.begin("caller", r#"{"page": "slow"}"#).await;
    assert_eq!(text(&world.settled(&run).await, "status"), Some("ok"));
    let calls = host.log.lock().calls.len();
    let replayed = world.runs(&["replay", &run]).await.exits(0).json();
    assert_eq!(replayed.pointer("/output/reply/ok"), Some(&true.into()), "{replayed}");
    assert_eq!(host.log.lock().calls.len(), calls, "a replay takes results over");
    let shown = world.runs(&["show", &run[..12]]).await.exits(0).json();
    assert_eq!(shown.pointer("/outputs/fetch/reply/ok"), Some(&true.into()), "{shown}");
    let failed = world.begin("echo", r#"{"query": "fail"}"#).await;
    assert_eq!(text(&world.settled(&failed).await, "status"), Some("error"));
    let body = r#"{"flow": "echo", "input": {"query": "hi", "auth": {"token": "t"}}}"#;
    world.served.post("/runs", body).await.problem(400, "auth-refused");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_starts_under_one_name_are_one_workflow_and_another_request_is_a_conflict() {
    let folder = project();
    let page = r#"{"method": "GET", "path": "/slow", "delay_ms": 300, "json": {"ok": true}, "times": 99}"#;
    let host = HostScript::new(&[stave_canon::parse(page).unwrap()]);
    let server = host.serve().await;
    folder.write("flows/caller.yaml", caller(server.port));
    let world = World::start(folder).await;
    let port = world.served.port;
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let body = r#"{"flow": "caller", "input": {"page": "slow"}}"#;
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..6 {
        asked.spawn(async move { ask(port, "POST", "/runs?wait=true", &headers, None, Some(body)).await });
    }
    let answers = asked.join_all().await;
    let runs: std::collections::BTreeSet<String> = answers
        .into_iter()
        .map(|answer| text(&answer.is(200).json(), "run_id").unwrap().to_owned())
        .collect();
    assert_eq!((runs.len(), host.log.lock().calls.len()), (1, 1));
    let other = body.replace("slow", "other");
    ask(port, "POST", "/runs", &headers, None, Some(&other)).await.problem(409, "idempotency-conflict");
    let named = r#"{"run_id": "order-1", "flow": "caller", "input": {"page": "slow"}}"#;
    for _ in 0..2 {
        world.served.post("/runs?wait=true", named).await.is(200);
    }
    world.served.post("/runs", &named.replace("slow", "other")).await.problem(409, "run-exists");
    assert_eq!(host.log.lock().calls.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_of_a_session_come_in_order_and_large_values_are_kept_once() {
    let folder = Folder::new();
    folder.write("stave.toml", "[project]\nrepo = \"turns\"\n");
    folder.write("flows/turns.yaml", TURNS);
    folder.write("flows/large.yaml", LARGE);
    let world = World::start_as_set(folder).await;
    let mut runs = Vec::new();
    for _ in 0..12 {
        runs.push(world.begin("turns", r#"{"session_id": "s"}"#).await);
    }
    for (index, run) in runs.iter().enumerate() {
        let shown = world.settled(run).await;
        assert_eq!(shown.pointer("/output/turn"), Some(&(index + 1).into()), "{shown}");
    }
    let other = world.begin("turns", r#"{"session_id": "other"}"#).await;
    assert_eq!(world.settled(&other).await.pointer("/output/turn"), Some(&1.into()));

    let large = world.begin("large", r#"{"size": 1000000}"#).await;
    assert_eq!(world.settled(&large).await.pointer("/output/size"), Some(&1_000_000.into()));
    let query = |query: &str| Value::from_iter([("query", query)]).to_string();
    let headers = [("content-type", "application/json"), ("accept", "application/json")];
    let port = world.cluster.admin_port(0);
    let sizes = query("SELECT max(value_length) AS most FROM state WHERE service_name = 'StaveRun'");
    let sizes = ask(port, "POST", "/query", &headers, None, Some(&sizes)).await.is(200).json();
    let most = sizes.pointer("/rows/0/most").and_then(Value::as_i64).expect("runs write things down");
    assert!(most < 64 * 1024, "a run has written {most} bytes at once");
    let shown = stave(&world.folder, ["runs", "show", &large, "--json"]).finish().await.exits(0).json();
    let text = shown.pointer("/outputs/make/text").and_then(Value::as_str).map(str::len);
    assert_eq!(text, Some(1_000_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_the_embedded_engine_are_exported_and_handed_over() {
    let folder = project();
    folder.write("flows/turns.yaml", TURNS);
    folder.write("request.json", r#"{"amount": 7}"#);
    folder.write("turn.json", r#"{"session_id": "s"}"#);
    stave(&folder, ["run", "flows/careful.yaml", "--input", "request.json", "--json"])
        .finish()
        .await
        .exits(1);
    stave(&folder, ["run", "flows/turns.yaml", "--input", "turn.json", "--json"]).finish().await.exits(0);
    let exported = stave(&folder, ["runs", "export", "--all", "--json"]).finish().await.exits(0).json();
    let exported = items(&exported, "runs");
    assert_eq!(exported.len(), 2, "{exported:?}");
    let waiting = exported.iter().find(|run| text(run, "status") == Some("waiting")).expect("one run waits");
    assert_eq!(waiting.pointer("/request/amount"), Some(&7.into()), "{waiting}");
    assert!(waiting.pointer("/document/graph/nodes").is_some(), "{waiting}");
    let run = text(waiting, "run_id").expect("a run has an id").to_owned();

    let world = World::start(folder).await;
    let moved = world.runs(&["handover", "--all"]).await.exits(0).json();
    assert_eq!(moved.pointer("/handed_over/0").and_then(Value::as_str), Some(run.as_str()), "{moved}");
    assert_eq!(moved.get("records"), Some(&1.into()), "{moved}");
    let again = world.runs(&["handover", "--all"]).await.exits(0).json();
    assert_eq!(items(&again, "handed_over").len(), 0, "the embedded journal has forgotten it: {again}");
    assert_eq!(text(&world.settled(&run).await, "status"), Some("waiting"));
    let approved = world.runs(&["approve", &run, "ask"]).await.exits(0).json();
    assert_eq!(approved.pointer("/output/paid"), Some(&"paid 7".into()), "{approved}");
    // The session continues where it was.
    let turn = world.begin("turns", r#"{"session_id": "s"}"#).await;
    assert_eq!(world.settled(&turn).await.pointer("/output/turn"), Some(&2.into()));
}

#[tokio::test]
async fn an_engine_that_can_not_be_used_is_told() {
    let folder = project();
    let refused = stave(&folder, ["runs", "list", "--engine", "restate"]).finish().await.exits(2);
    assert!(refused.stderr.contains("--restate-url"), "{refused}");
    let nobody = ["runs", "list", "--engine", "restate", "--restate-url", "nowhere"];
    stave(&folder, nobody).finish().await.exits(2);
    folder.write("stave.toml", "[engine]\nkind = \"restat\"\n");
    let checked = stave(&folder, ["check", "--format", "json"]).finish().await.exits(2).json();
    let found: Vec<_> =
        items(&checked, "diagnostics").iter().filter_map(|found| text(found, "message")).collect();
    assert!(found.iter().any(|message| message.contains("kind")), "{found:?}");
}
