//! State and features where a project says they are: in its own file, on servers, and as of a time.

use stave_canon::Value;

use crate::folder::Folder;
use crate::process::{Stave, stave};
use crate::server;

/// Counts up in a session, in a backend that the test chooses.
fn counter(backend: &str) -> Folder {
    let folder = Folder::new();
    let flow = r#"version: "1.0"
metadata: {name: counter}
context: {requires: [n, session_id]}
nodes:
  count:
    type: transform
    inputs: [{name: n, type: number}]
    outputs: [{name: n, type: number}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            total = await state.get('total', 0) + inputs['n']
            await state.set('total', total)
            return {'n': total}
    state: {scope: session, backend: BACKEND}
edges:
  - {from: _input.n, to: count.n}
  - {from: count.n, to: _output.n}
"#;
    folder.write("flow.yaml", flow.replace("BACKEND", backend));
    folder
}

fn count(folder: &Folder, state_dir: &str) -> Stave {
    let arguments = ["run", "flow.yaml", "--input", "-", "--json", "--state-dir", state_dir];
    stave(folder, arguments).input(r#"{"n": 2, "session_id": "s1"}"#)
}

async fn total(call: Stave) -> Option<i64> {
    call.finish().await.exits(0).json().pointer("/output/n").and_then(Value::as_i64)
}

#[tokio::test]
async fn sessions_in_redis_are_shared_by_machines_that_share_nothing_else() {
    let server = server::redis();
    let folder = counter("redis");
    for (state_dir, expected) in [("one", 2), ("two", 4)] {
        assert_eq!(total(count(&folder, state_dir).env("REDIS_URL", &server.address)).await, Some(expected));
    }
    // Without an address the project's own file serves, and the warning says so.
    let alone = count(&folder, "three").finish().await.exits(0);
    assert!(alone.stderr.contains("REDIS_URL is not set"), "{alone}");
    assert_eq!(alone.json().pointer("/output/n").and_then(Value::as_i64), Some(2));
}

#[tokio::test]
async fn a_project_that_keeps_its_state_in_redis_needs_an_address_without_a_password_in_its_file() {
    let folder = counter("memory");
    folder.write("stave.toml", "[state]\nbackend = \"redis\"\n");
    let lost = count(&folder, "one").finish().await.exits(2);
    assert!(lost.stdout.contains("has no address") && lost.stdout.contains("REDIS_URL"), "{lost}");
    folder.write("stave.toml", "[state]\nbackend = \"redis\"\nurl = \"redis://:hunter2@127.0.0.1:6379/0\"\n");
    let told = stave(&folder, ["check", "flow.yaml"]).finish().await;
    assert!(told.stderr.contains("secret-in-project-file"), "{told}");
    let server = server::redis();
    folder.write("stave.toml", format!("[state]\nbackend = \"redis\"\nurl = \"{}\"\n", server.address));
    for expected in [2, 4] {
        let state_dir = expected.to_string();
        assert_eq!(total(count(&folder, &state_dir)).await, Some(expected));
    }
}

#[tokio::test]
async fn sessions_in_an_online_feature_store_outlive_the_machine() {
    let server = server::mariadb();
    let folder = counter("hopsworks");
    for (state_dir, expected) in [("one", 2), ("two", 4)] {
        assert_eq!(
            total(count(&folder, state_dir).env("HOPSWORKS_URL", &server.address)).await,
            Some(expected)
        );
    }
}

/// Scores a customer by a feature, and writes the score down.
const SCORE: &str = r#"version: "1.0"
metadata: {name: scorer}
context: {requires: [id]}
nodes:
  look_up:
    type: transform
    inputs: [{name: id, type: string}]
    outputs: [{name: row, type: object}]
    transform:
      mode: declarative
      spec: {op: hopsworks.read_features, args: {feature_group: customers, key: "${id}"}}
  entry:
    type: transform
    inputs: [{name: id, type: string}]
    outputs: [{name: model, type: object}]
    transform: {mode: declarative, spec: {op: hopsworks.get_model, args: {name: churn}}}
  score:
    type: transform
    inputs: [{name: id, type: string}, {name: row, type: object}, {name: model, type: object}]
    outputs: [{name: row, type: object}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            score = inputs['row']['visits'] * inputs['model']['weight']
            return {'row': {'id': inputs['id'], 'score': score}}
  keep:
    type: transform
    inputs: [{name: row, type: object}]
    outputs: [{name: kept, type: object}]
    transform:
      mode: declarative
      spec: {op: hopsworks.write_features, args: {feature_group: scores, data: "${row}"}}
edges:
  - {from: _input.id, to: look_up.id}
  - {from: _input.id, to: entry.id}
  - {from: _input.id, to: score.id}
  - {from: look_up.row, to: score.row}
  - {from: entry.model, to: score.model}
  - {from: score.row, to: keep.row}
  - {from: score.row, to: _output.row}
  - {from: keep.kept, to: _output.kept}
"#;

/// Reads a score that was written.
const READ: &str = r#"version: "1.0"
metadata: {name: reader}
context: {requires: [id]}
nodes:
  look_up:
    type: transform
    inputs: [{name: id, type: string}]
    outputs: [{name: row, type: object}]
    transform:
      mode: declarative
      spec: {op: hopsworks.read_features, args: {feature_group: scores, key: "${id}"}}
edges:
  - {from: _input.id, to: look_up.id}
  - {from: look_up.row, to: _output.row}
"#;

#[tokio::test]
async fn a_score_is_made_of_what_was_known_and_is_read_back_as_of_a_time() {
    let folder = Folder::new();
    folder.write("score.yaml", SCORE);
    folder.write("read.yaml", READ);
    folder.write("stave.toml", "[features.scores]\nkey = [\"id\"]\n");
    folder.write("models/churn.json", r#"[{"version": 1, "weight": 1}, {"version": 2, "weight": 10}]"#);
    folder.write(
        "features/customers.jsonl",
        "{\"key\": \"c1\", \"event_time\": \"2026-01-01T00:00:00Z\", \"features\": {\"visits\": 3}}\n\
         {\"key\": \"c1\", \"event_time\": \"2026-03-01T00:00:00Z\", \"features\": {\"visits\": 5}}\n",
    );
    let run = async |flow: &str, time: &str, code: i32| {
        let request = format!(r#"{{"id": "c1", "event_time": "{time}"}}"#);
        let call = stave(&folder, ["run", flow, "--input", "-", "--json"]).input(&request);
        call.finish().await.exits(code).json()
    };
    let scored = run("score.yaml", "2026-02-01T00:00:00Z", 0).await;
    assert_eq!(scored.pointer("/output/row/score").and_then(Value::as_i64), Some(30), "{scored}");
    assert_eq!(scored.pointer("/output/kept/written").and_then(Value::as_i64), Some(1));
    assert_eq!(
        run("score.yaml", "2026-04-01T00:00:00Z", 0)
            .await
            .pointer("/output/row/score")
            .and_then(Value::as_i64),
        Some(50)
    );
    let read = run("read.yaml", "2026-02-15T00:00:00Z", 0).await;
    assert_eq!(read.pointer("/output/row/score").and_then(Value::as_i64), Some(30), "{read}");
    let early = run("read.yaml", "2026-01-15T00:00:00Z", 1).await;
    assert_eq!(early.pointer("/error/code").and_then(Value::as_str), Some("not-found"), "{early}");
}

/// A server with one tool, in a few lines, which answers on its standard streams.
const TOOL_SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if 'id' not in asked:
        continue
    if asked['method'] == 'initialize':
        result = {'protocolVersion': asked['params']['protocolVersion'], 'capabilities': {'tools': {}},
                  'serverInfo': {'name': 'weather', 'version': '1'}}
    elif asked['method'] == 'tools/call':
        city = asked['params']['arguments']['city']
        result = {'content': [], 'structuredContent': {'city': city, 'degrees': 7}}
    else:
        print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'error': {'code': -32601, 'message': 'no such method'}}), flush=True)
        continue
    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)
"#;

#[tokio::test]
async fn a_flow_calls_a_tool_on_a_server_that_the_project_names() {
    let folder = Folder::new();
    folder.write("weather.py", TOOL_SERVER);
    folder.write("stave.toml", "[mcp.weather]\ncommand = \"python3\"\narguments = [\"weather.py\"]\n");
    let flow = r#"version: "1.0"
metadata: {name: forecast}
context: {requires: [city]}
nodes:
  ask:
    type: transform
    inputs: [{name: city, type: string}]
    outputs: [{name: weather, type: object}]
    transform:
      mode: declarative
      spec: {op: mcp.call, args: {server: weather, tool: today, arguments: {city: "${city}"}}}
edges:
  - {from: _input.city, to: ask.city}
  - {from: ask.weather, to: _output.weather}
"#;
    folder.write("flow.yaml", flow);
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
    let call = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json"]).input(r#"{"city": "Oslo"}"#);
    let value = call.finish().await.exits(0).json();
    let weather = value.pointer("/output/weather").map(Value::to_string);
    assert_eq!(weather.as_deref(), Some(r#"{"city":"Oslo","degrees":7}"#), "{value}");
}

#[tokio::test]
async fn a_table_is_imported_whole_or_not_at_all_and_read_as_of_a_time() {
    let folder = Folder::new();
    folder
        .write("rows.csv", "id,seen,age,zip\n7,2026-01-01T00:00:00Z,30,007\n7,2026-03-01T00:00:00Z,31,007\n");
    let import =
        ["features", "import", "rows.csv", "--group", "customers", "--key", "id", "--event-time", "seen"];
    let done = stave(&folder, import.iter().chain(&["--json"])).finish().await.exits(0);
    assert_eq!(done.json().get("rows").and_then(Value::as_i64), Some(2), "{done}");
    let read = async |as_of: &str, code: i32| {
        stave(&folder, ["features", "read", "customers", "7", "--as-of", as_of]).finish().await.exits(code)
    };
    assert_eq!(read("2026-02-01T00:00:00Z", 0).await.stdout.trim(), r#"{"id":7,"age":30,"zip":"007"}"#);
    assert_eq!(read("2026-03-01T00:00:00Z", 0).await.stdout.trim(), r#"{"id":7,"age":31,"zip":"007"}"#);
    assert!(read("2025-12-31T00:00:00Z", 2).await.stderr.contains("has no row"));
    folder.write("bad.csv", "id,seen,age\n8,2026-01-01T00:00:00Z,1\n9,yesterday,2\n");
    let bad =
        ["features", "import", "bad.csv", "--group", "customers", "--key", "id", "--event-time", "seen"];
    let refused = stave(&folder, bad).finish().await.exits(2);
    assert!(refused.stderr.contains("row 2") && refused.stderr.contains("timestamp"), "{refused}");
    let absent = stave(&folder, ["features", "read", "customers", "8"]).finish().await.exits(2);
    assert!(absent.stderr.contains("has no row"), "{absent}");
}
