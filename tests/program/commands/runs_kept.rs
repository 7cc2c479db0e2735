//! Runs and state that are kept: replayed under another budget, named by a part of their ids, deleted, and their logs.

use stave_canon::Value;

use crate::folder::Folder;
use crate::json::{count, items, text, values};
use crate::process::stave;
use crate::scripted::host::HostScript;
use crate::serve::{Served, echo, project};

/// Posts each number of a list, within a budget of calls.
fn posts(port: u16, calls: u32) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: batch}}
context: {{requires: [ns]}}
runtime: {{budget: {{calls: {calls}}}}}
nodes:
  post:
    type: transform
    inputs: [{{name: n, type: number}}]
    outputs: [{{name: r, type: object}}]
    runtime: {{retries: 0}}
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/p", body: "${{n}}"}}}}
  all:
    type: transform
    inputs: [{{name: ns, type: array}}]
    outputs: [{{name: results, type: array}}]
    transform:
      mode: declarative
      spec: {{op: transform.each, args: {{input: "${{ns}}", node: post, parallel: 1}}}}
edges:
  - {{from: _input.ns, to: all.ns}}
  - {{from: all.results, to: _output}}
"#
    )
}

/// The same, and how many items the node `all` took over.
fn reused_items(report: &Value) -> Option<u64> {
    report.pointer("/nodes/all").and_then(|node| count(node, "reused_items"))
}

#[tokio::test]
async fn a_replay_is_held_to_the_budget_of_now_and_takes_finished_items_over() {
    let script = HostScript::new(&values(r#"[{"method": "POST", "path": "/p", "json": {}, "times": 99}]"#));
    let server = script.serve().await;
    let calls = || {
        let log = script.log.lock();
        log.calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned()).collect::<Vec<_>>()
    };
    let folder = Folder::new();
    let settings = "[http]\nallow = [\"127.0.0.1\"]\n[budget]\ncalls = 2\n";
    folder.write("stave.toml", settings);
    folder.write("flows/batch.yaml", posts(server.port, 50));
    folder.write("in.json", r#"{"ns": [1, 2, 3, 4, 5]}"#);
    let run = ["run", "flows/batch.yaml", "--input", "in.json", "--json"];
    let failed = stave(&folder, run).finish().await.json();
    assert_eq!(failed.pointer("/error/code"), Some(&"budget-exceeded".into()), "{failed}");
    assert_eq!(calls(), ["1", "2"]);
    let id = text(&failed, "run_id").unwrap();

    // The project allows one more, in this run alone: what the first run used was its own.
    folder.write("stave.toml", settings.replace("calls = 2", "calls = 1"));
    let again = stave(&folder, ["runs", "replay", id, "--json"]).finish().await.json();
    assert_eq!(again.pointer("/error/code"), Some(&"budget-exceeded".into()), "{again}");
    assert_eq!(again.pointer("/error/details/allowed/calls"), Some(&1.into()), "{again}");
    assert_eq!(calls(), ["1", "2", "3"]);
    assert_eq!(reused_items(&again), Some(2), "{again}");

    // A replay of the replay has the items of both.
    folder.write("stave.toml", settings.replace("calls = 2", "calls = 20"));
    let id = text(&again, "run_id").unwrap();
    let whole = stave(&folder, ["runs", "replay", id, "--json"]).finish().await.exits(0).json();
    assert_eq!(calls(), ["1", "2", "3", "4", "5"], "each was sent once");
    assert_eq!(reused_items(&whole), Some(3), "{whole}");
    assert_eq!(items(&whole, "output").len(), 5, "{whole}");
    let shown = stave(&folder, ["runs", "show", text(&whole, "run_id").unwrap()]).finish().await.exits(0);
    assert!(shown.stdout.contains("3 items reused"), "{shown}");

    // Naming the node repeats all of it.
    stave(&folder, ["runs", "replay", id, "all", "--json"]).finish().await.exits(0);
    assert_eq!(calls().len(), 10);

    // The same through a server, whose flow is the one that is served now.
    let served = Served::start(&folder, &[]).await;
    folder.write("flows/batch.yaml", posts(server.port, 1));
    let mut served = served;
    served.process.wait_for_stderr("serving `batch`").await;
    let replayed = served.post(&format!("/runs/{id}/replay"), "{}").await.is(202).json();
    let new = text(&replayed, "run_id").unwrap();
    for _ in 0..200 {
        let shown = served.get(&format!("/runs/{new}")).await.is(200).json();
        if text(&shown, "status") == Some("error") {
            assert_eq!(shown.pointer("/error/details/allowed/calls"), Some(&1.into()), "{shown}");
            assert_eq!(calls().len(), 11);
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the replay did not fail under the new budget");
}

async fn run_echo(folder: &Folder, id: &str, query: &str) {
    folder.write("in.json", format!(r#"{{"query": "{query}"}}"#));
    let run = ["run", "flows/echo.yaml", "--input", "in.json", "--run-id", id, "--json"];
    stave(folder, run).finish().await;
}

#[tokio::test]
async fn the_beginning_of_several_ids_is_ambiguous_and_names_them() {
    let folder = project();
    for id in ["day-1", "day-12", "day-2"] {
        run_echo(&folder, id, "hi").await;
    }
    let refused = stave(&folder, ["runs", "show", "day", "--json"]).finish().await.exits(2).json();
    let message = refused.pointer("/error/message").and_then(Value::as_str).unwrap();
    assert_eq!(message, "several runs begin with `day`: `day-1`, `day-12`, `day-2`");
    stave(&folder, ["runs", "show", "day-1"]).finish().await.exits(0);
    stave(&folder, ["runs", "show", "day-2"]).finish().await.exits(0);
    let unknown = stave(&folder, ["runs", "show", "night", "--json"]).finish().await.exits(2);
    assert!(unknown.stdout.contains("there is no run `night`"), "{unknown}");
}

#[tokio::test]
async fn ended_runs_are_deleted_and_runs_in_progress_never_are() {
    let folder = project();
    for id in ["one", "two"] {
        run_echo(&folder, id, "hi").await;
    }
    folder.write("in.json", r#"{"amount": 1}"#);
    let run = ["run", "flows/careful.yaml", "--input", "in.json", "--run-id", "asks", "--json"];
    stave(&folder, run).finish().await.exits(1);
    let tried = ["runs", "delete", "one", "two", "--dry-run", "--json"];
    let tried = stave(&folder, tried).finish().await.exits(0).json();
    assert_eq!(items(&tried, "deleted").len(), 2, "{tried}");
    // Nothing goes when one of them may not.
    let refused = stave(&folder, ["runs", "delete", "one", "asks"]).finish().await.exits(2);
    assert!(
        refused.stderr.contains("has not ended: waiting") && refused.stderr.contains("--force"),
        "{refused}"
    );
    let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
    assert_eq!(items(&listed, "runs").len(), 3, "{listed}");
    stave(&folder, ["runs", "delete", "one", "two"]).finish().await.exits(0);
    stave(&folder, ["runs", "delete", "asks", "--force"]).finish().await.exits(0);
    let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
    assert_eq!(items(&listed, "runs").len(), 0, "{listed}");
    stave(&folder, ["runs", "delete", "one"]).finish().await.exits(2);
    stave(&folder, ["runs", "delete"]).finish().await.exits(2);
}

#[tokio::test]
async fn a_run_that_a_server_drives_is_not_deleted() {
    let (folder, _host) = crate::serve::sample::slow_project(3000).await;
    let served = Served::start(&folder, &[]).await;
    let begun = served.post("/runs", r#"{"flow": "caller", "input": {"page": "slow"}}"#).await.is(202).json();
    let run = text(&begun, "run_id").unwrap();
    for force in [&[][..], &["--force"]] {
        let refused = stave(&folder, ["runs", "delete", run].iter().chain(force)).finish().await.exits(2);
        assert!(refused.stderr.contains("worked on by another process"), "{refused}");
    }
    served.get(&format!("/runs/{run}")).await.is(200);
}

#[tokio::test]
async fn what_code_printed_is_shown_with_the_run() {
    let folder = project();
    let printing = echo("").replace(
        "            if inputs",
        "            for n in range(300):\n                print('line', n)\n            if inputs",
    );
    folder.write("flows/echo.yaml", printing);
    run_echo(&folder, "loud", "hi").await;
    let shown = stave(&folder, ["runs", "show", "loud"]).finish().await.exits(0);
    assert!(shown.stdout.contains("`say` printed:\n  line 0\n  line 1\n"), "{shown}");
    assert!(shown.stdout.contains("more was printed") && !shown.stdout.contains("line 250"), "{shown}");
    let shown = stave(&folder, ["runs", "show", "loud", "--json"]).finish().await.exits(0).json();
    assert_eq!(shown.pointer("/logs/say/0"), Some(&"line 0".into()), "{shown}");
}

/// Counts the turns of a session.
pub(super) const COUNTER: &str = r#"version: "1.0"
metadata: {name: counter}
context: {requires: [session_id]}
nodes:
  count:
    type: transform
    inputs: [{name: session, type: string}]
    outputs: [{name: count, type: number}]
    state: {scope: session, key: "count_{session_id}"}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            count = await state.get("count", 0) + 1
            await state.set("count", count)
            return {"count": count}
edges:
  - {from: _input.session_id, to: count.session}
  - {from: count.count, to: _output.count}
"#;

#[tokio::test]
async fn what_sessions_remember_is_listed_shown_and_deleted() {
    let folder = Folder::new();
    folder.write("stave.toml", "[project]\ntenant = \"acme\"\n");
    folder.write("flows/counter.yaml", COUNTER);
    let none = stave(&folder, ["state", "list", "--json"]).finish().await.exits(0).json();
    assert_eq!(none.to_string(), r#"{"records":[],"total":0}"#);
    let turn = async |session: &str| {
        folder.write("in.json", format!(r#"{{"session_id": "{session}"}}"#));
        let run = ["run", "flows/counter.yaml", "--input", "in.json", "--json"];
        let report = stave(&folder, run).finish().await.exits(0).json();
        report.pointer("/output/count").and_then(Value::as_i64)
    };
    assert_eq!(turn("ann").await, Some(1));
    assert_eq!(turn("bob").await, Some(1));
    assert_eq!(turn("ann").await, Some(2));
    let listed =
        stave(&folder, ["state", "list", "--session", "ann", "--json"]).finish().await.exits(0).json();
    let record = items(&listed, "records").first().unwrap_or_else(|| panic!("{listed}"));
    assert_eq!((text(record, "owner"), text(record, "key")), (Some("ann"), Some("count_ann")), "{listed}");
    let id = text(record, "id").unwrap();
    let shown = stave(&folder, ["state", "show", id, "--json"]).finish().await.exits(0).json();
    assert_eq!(shown.pointer("/fields/count"), Some(&2.into()), "{shown}");
    let table = stave(&folder, ["state", "list"]).finish().await.exits(0);
    assert!(table.stdout.contains("ann") && table.stdout.contains("bob"), "{table}");

    stave(&folder, ["state", "delete"]).finish().await.exits(2);
    let tried = ["state", "delete", "--session", "ann", "--dry-run", "--json"];
    let tried = stave(&folder, tried).finish().await.exits(0).json();
    assert_eq!(items(&tried, "deleted").len(), 1, "{tried}");
    assert_eq!(turn("ann").await, Some(3), "nothing was deleted");
    stave(&folder, ["state", "delete", id]).finish().await.exits(0);
    assert_eq!(turn("ann").await, Some(1));
    assert_eq!(turn("bob").await, Some(2), "other sessions stay");
}

#[tokio::test]
async fn restricted_records_are_listed_and_shown_without_their_keys_and_values() {
    const SECRET: &str = "DE89370400440532013000";
    let folder = Folder::new();
    folder.write("stave.toml", "[project]\ntenant = \"acme\"\n");
    let flow = |scope: &str, value: &str, restricted: &str| {
        format!(
            r#"version: "1.0"
metadata: {{name: payer}}
context: {{requires: [iban, session_id], sensitivity: {{{restricted}: restricted}}}}
nodes:
  keep:
    type: transform
    inputs: [{{name: iban, type: string}}]
    outputs: [{{name: ok, type: boolean}}]
    state: {{scope: {scope}, key: "account_{{iban}}"}}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            await state.set("last", {value})
            return {{"ok": True}}
edges:
  - {{from: _input.iban, to: keep.iban}}
  - {{from: keep.ok, to: _output.ok}}
"#
        )
    };
    // The value, the key alone, and the session alone.
    let cases = [
        ("session", "inputs['iban']", "iban", SECRET, "ann"),
        ("session", "1", "iban", SECRET, "ann"),
        ("session", "1", "session_id", "none", SECRET),
    ];
    for (scope, value, restricted, iban, session) in cases {
        folder.write("flows/payer.yaml", flow(scope, value, restricted));
        folder.write("in.json", format!(r#"{{"iban": "{iban}", "session_id": "{session}"}}"#));
        stave(&folder, ["run", "flows/payer.yaml", "--input", "in.json"]).finish().await.exits(0);
        let listed = stave(&folder, ["state", "list", "--json"]).finish().await.exits(0);
        assert!(!listed.stdout.contains(SECRET), "{value} {restricted}: {listed}");
        let table = stave(&folder, ["state", "list"]).finish().await.exits(0);
        assert!(!table.stdout.contains(SECRET) && table.stdout.contains("[restricted]"), "{table}");
        let record = text(&items(&listed.json(), "records")[0], "id").unwrap().to_owned();
        for form in [vec!["state", "show", &record], vec!["state", "show", &record, "--json"]] {
            let shown = stave(&folder, form).finish().await.exits(0);
            assert!(!format!("{shown}").contains(SECRET), "{shown}");
        }
        for form in [vec!["state", "list"], vec!["state", "show", &record, "--json"]] {
            let shown = stave(&folder, form.into_iter().chain(["--show-restricted"])).finish().await.exits(0);
            assert!(shown.stdout.contains(SECRET), "{shown}");
        }
        stave(&folder, ["state", "delete", &record]).finish().await.exits(0);
    }
}

#[tokio::test]
async fn what_a_run_in_progress_may_work_on_is_not_deleted() {
    let (folder, host) = crate::serve::sample::slow_project(3000).await;
    let get = format!(
        r#"nodes:
  wait:
    type: transform
    inputs: [{{name: session, type: string}}]
    outputs: [{{name: session, type: object}}]
    transform: {{mode: declarative, spec: {{op: http.get, args: {{url: "http://127.0.0.1:{}/slow"}}}}}}
"#,
        host.port
    );
    let slow = COUNTER
        .replace("nodes:\n", &get)
        .replace(
            "{name: session, type: string}]\n    outputs: [{name: count",
            "{name: session, type: object}]\n    outputs: [{name: count",
        )
        .replace("to: count.session", "to: wait.session}\n  - {from: wait.session, to: count.session");
    folder.write("flows/quick.yaml", COUNTER.replace("name: counter", "name: slow"));
    folder.write("in.json", r#"{"session_id": "ann"}"#);
    stave(&folder, ["run", "flows/quick.yaml", "--input", "in.json"]).finish().await.exits(0);
    folder.write("flows/quick.yaml", slow.replace("name: counter", "name: slow"));
    let served = Served::start(&folder, &[]).await;
    let body = r#"{"flow": "slow", "input": {"session_id": "ann"}}"#;
    let begun = served.post("/runs", body).await.is(202).json();
    let run = text(&begun, "run_id").unwrap();
    let kept =
        stave(&folder, ["state", "delete", "--session", "ann", "--json"]).finish().await.exits(1).json();
    assert_eq!(kept.pointer("/held/0/run_id"), Some(&run.into()), "{kept}");
    let listed = stave(&folder, ["state", "list", "--json"]).finish().await.exits(0).json();
    assert_eq!(items(&listed, "records").len(), 1, "{listed}");
}
