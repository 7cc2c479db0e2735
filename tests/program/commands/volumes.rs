//! One run writes a bounded number of bytes, and fails on its own when it would write more.

use crate::folder::Folder;
use crate::process::stave;

/// Writes `x` bytes of state, prints as many, and gives as many, as the request says.
const FLOW: &str = r#"version: "1.0"
metadata: {name: heavy}
context: {requires: [state, logs, result], optional: [items]}
nodes:
  work:
    type: transform
    inputs: [{name: state, type: number}, {name: logs, type: number}, {name: result, type: number}]
    outputs: [{name: text, type: string}]
    state: {scope: request, key: "rows"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            for index in range(int(inputs['state'] // 1000)):
                await state.set('k' + str(index), 'x' * 1000)
            for index in range(int(inputs['logs'] // 100)):
                print('y' * 100)
            return {'text': 'z' * int(inputs['result'])}
edges:
  - {from: _input.state, to: work.state}
  - {from: _input.logs, to: work.logs}
  - {from: _input.result, to: work.result}
  - {from: work.text, to: _output.text}
"#;

const LIMITS: &str =
    "[limits]\nstate_bytes = 20000\nresult_bytes = 30000\nlog_bytes = 5000\noutput_bytes = 10000\n";

#[tokio::test]
async fn a_run_that_writes_more_than_it_may_fails_with_a_code() {
    let folder = Folder::new();
    folder.write("stave.toml", LIMITS);
    folder.write("flow.yaml", FLOW);
    for storage in [&["--state-dir", "state"][..], &["--ephemeral"]] {
        for (request, bound) in [
            (r#"{"state": 1000, "logs": 1000, "result": 1000}"#, None),
            (r#"{"state": 30000, "logs": 0, "result": 0}"#, Some("state_bytes")),
            (r#"{"state": 0, "logs": 9000, "result": 0}"#, Some("log_bytes")),
            (r#"{"state": 0, "logs": 0, "result": 40000}"#, Some("result_bytes")),
            (r#"{"state": 0, "logs": 0, "result": 15000}"#, Some("output_bytes")),
        ] {
            let arguments = ["run", "flow.yaml", "--input", "-"].into_iter().chain(storage.iter().copied());
            let finished = stave(&folder, arguments).input(request).finish().await;
            match bound {
                None => drop(finished.exits(0)),
                Some(bound) => {
                    let finished = finished.exits(1);
                    assert!(finished.stderr.contains("run-too-large"), "{finished}");
                    assert!(finished.stderr.contains(bound), "{finished}");
                }
            }
        }
    }
}

/// The same for every item of a list, so that the sum counts.
const ITEMS: &str = r#"version: "1.0"
metadata: {name: heavy_list}
context: {requires: [items]}
nodes:
  all:
    type: transform
    inputs: [{name: items, type: array}]
    outputs: [{name: results, type: array}]
    transform: {mode: declarative, spec: {op: transform.each, args: {input: "${items}", node: one, parallel: 1}}}
  one:
    type: transform
    inputs: [{name: item, type: number}]
    outputs: [{name: n, type: number}]
    state: {scope: request, key: "row_{item}"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            await state.set('k', 'x' * 8000)
            return {'n': inputs['item']}
edges:
  - {from: _input.items, to: all.items}
  - {from: all.results, to: _output.results}
"#;

#[tokio::test]
async fn the_items_of_a_list_count_together() {
    let folder = Folder::new();
    folder.write("stave.toml", LIMITS);
    folder.write("flow.yaml", ITEMS);
    for (items, code) in [("[1, 2]", 0), ("[1, 2, 3]", 1)] {
        let arguments = ["run", "flow.yaml", "--input", "-", "--state-dir", "state"];
        let finished = stave(&folder, arguments).input(&format!(r#"{{"items": {items}}}"#)).finish().await;
        let finished = finished.exits(code);
        assert_eq!(finished.stderr.contains("run-too-large"), code == 1, "{finished}");
    }
}

/// Writes state, waits for a person, and writes again.
const WAITING: &str = r#"version: "1.0"
metadata: {name: heavy_wait}
context: {requires: [x]}
nodes:
  first:
    type: transform
    inputs: [{name: x, type: string}]
    outputs: [{name: x, type: string}]
    state: {scope: request, key: "first"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            await state.set('k', 'x' * 12000)
            return {'x': inputs['x']}
  ask:
    type: transform
    inputs: [{name: x, type: string}]
    outputs: [{name: x, type: string}]
    transform: {mode: declarative, spec: {op: human.approve, args: {message: "Continue?"}}}
  second:
    type: transform
    inputs: [{name: x, type: string}]
    outputs: [{name: x, type: string}]
    state: {scope: request, key: "second"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            await state.set('k', 'x' * 12000)
            return {'x': inputs['x']}
edges:
  - {from: _input.x, to: first.x}
  - {from: first.x, to: ask.x}
  - {from: ask.x, to: second.x}
  - {from: second.x, to: _output.x}
"#;

#[tokio::test]
async fn the_sum_counts_over_a_resume() {
    for (limits, code) in [("[limits]\nstate_bytes = 30000\n", 0), (LIMITS, 1)] {
        let folder = Folder::new();
        folder.write("stave.toml", limits);
        folder.write("flow.yaml", WAITING);
        let arguments = ["run", "flow.yaml", "--input", "-", "--json"];
        let waiting = stave(&folder, arguments).input(r#"{"x": "a"}"#).finish().await.exits(1).json();
        let run = waiting.get("run_id").and_then(|run| run.as_str()).unwrap().to_owned();
        let finished = stave(&folder, ["runs", "approve", &run, "ask"]).finish().await.exits(code);
        assert_eq!(finished.stderr.contains("run-too-large"), code == 1, "{finished}");
    }
}
