//! Five flows, every node of them, every way in which it can go wrong: each run ends in one way, says what
//! went wrong and where, has no effect twice and none that it should not have, keeps what it did, and can be
//! resumed when its process was killed.

mod cases;
mod world;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use stave_canon::{Object, Value};

use self::cases::{EXAMPLES, Example};
use self::world::{Misbehaviour, Seen, Trouble, World};
use crate::batch;
use crate::folder::Folder;
use crate::json::{items, same, text};
use crate::process::{Finished, stave};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Call(Misbehaviour),
    /// Code that takes all memory it can get.
    SandboxKill,
    /// Someone ends the run when so many steps have a result.
    Cancel,
    /// The process is killed when so many steps have a result, and the run is resumed.
    Kill,
}

const FAULTS: [(&str, Fault); 8] = [
    ("timeout", Fault::Call(Misbehaviour::Slow)),
    ("429", Fault::Call(Misbehaviour::TooManyRequests)),
    ("500", Fault::Call(Misbehaviour::ServerError)),
    ("bad_json", Fault::Call(Misbehaviour::BadJson)),
    ("schema_violation", Fault::Call(Misbehaviour::WrongShape)),
    ("sandbox_kill", Fault::SandboxKill),
    ("cancel", Fault::Cancel),
    ("kill_and_resume", Fault::Kill),
];

const RUN: [&str; 5] = ["run", "flow.ir.json", "--input", "request.json", "--json"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_at_every_node_of_five_flows_ends_in_one_way() {
    let mut cases = Vec::new();
    for example in &EXAMPLES {
        let document = compiled(example).await;
        let baseline = baseline(example, &document).await;
        for (index, node) in nodes(&document).into_iter().enumerate() {
            for (word, fault) in FAULTS {
                let (document, baseline, node) = (document.clone(), baseline.clone(), node.clone());
                let name = format!("{} {node} {word}", example.folder);
                cases.push((name, async move {
                    match fault {
                        Fault::Cancel => cancelled(example, &document, index, &baseline).await,
                        Fault::Kill => killed(example, &document, index, &baseline).await,
                        fault => disturbed(example, &document, &node, fault).await,
                    }
                }));
            }
        }
    }
    assert!(cases.len() >= 5 * 6 * 8, "only {} cases", cases.len());
    let found = batch::run(cases).await;
    batch::assert_only_listed_fail(&found, "", "faults/mod.rs");
}

/// What an undisturbed run gives, and the run of the same session after it.
#[derive(Debug, Clone)]
struct Baseline {
    first: Value,
    second: Value,
    seen: Seen,
    /// The rows of features that the first run wrote.
    features: usize,
}

/// How many rows of features flows have written in a project.
fn features(folder: &Folder) -> usize {
    let Ok(connection) = rusqlite::Connection::open(folder.path().join(".stave/stave.sqlite")) else {
        return 0;
    };
    // The table is there once something was written.
    let count = connection.query_row("SELECT count(*) FROM feature_row", [], |row| row.get::<_, i64>(0));
    count.ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

/// The flow of an example as a document whose hosts and models are not told yet.
async fn compiled(example: &Example) -> Value {
    let folder = Folder::copy_of(&format!("examples/{}", example.folder));
    let flow = format!("flows/{}.yaml", example.folder);
    stave(&folder, ["compile", &flow, "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    stave_canon::parse(&folder.read(&format!("out/flows/{}.ir.json", example.document))).unwrap()
}

fn nodes(document: &Value) -> Vec<String> {
    let graph = document.get("graph").unwrap();
    let ids = items(graph, "nodes").iter().filter_map(|node| text(node, "id"));
    ids.filter(|id| !id.starts_with('_')).map(str::to_owned).collect()
}

/// The project of an example with a document in it.
fn project(example: &Example, document: &Value, port: u16) -> Folder {
    let folder = Folder::copy_of(&format!("examples/{}", example.folder));
    let mut document = document.clone();
    let mut written = document.to_string();
    for host in ["search", "ledger", "forge", "models"] {
        written =
            written.replace(&format!("https://{host}.example.com"), &format!("http://127.0.0.1:{port}"));
    }
    document = stave_canon::parse(&written).unwrap();
    for node in nodes_mut(&mut document) {
        if let Some(Value::Object(model)) =
            node.get_mut("with").and_then(|with| with.as_object_mut()?.get_mut("model"))
        {
            model.insert("endpoint".to_owned(), format!("http://127.0.0.1:{port}/v1").into());
        }
    }
    folder.write("flow.ir.json", document.to_string());
    folder.write(
        "stave.toml",
        "[http]\nallow = [\"127.0.0.1\"]\n[secrets.FORGE_TOKEN]\nhosts = [\"127.0.0.1\"]\n",
    );
    folder.write("request.json", example.request);
    folder
}

fn nodes_mut(document: &mut Value) -> impl Iterator<Item = &mut Object> {
    let graph = document.as_object_mut().unwrap().get_mut("graph").unwrap().as_object_mut().unwrap();
    let Some(Value::Array(nodes)) = graph.get_mut("nodes") else { panic!("a document has nodes") };
    nodes.iter_mut().filter_map(Value::as_object_mut)
}

async fn run(folder: &Folder) -> Finished {
    stave(folder, RUN).env("FORGE_TOKEN", "test").finish().await
}

async fn baseline(example: &'static Example, document: &Value) -> Baseline {
    let world = World::new(example, None);
    let server = world.serve().await;
    let folder = project(example, document, server.port);
    let first = run(&folder).await.exits(0).json();
    let (seen, features) = (world.seen(), features(&folder));
    let second = run(&folder).await.exits(0).json();
    let output = |report: &Value| report.get("output").cloned().unwrap();
    Baseline { first: output(&first), second: output(&second), seen, features }
}

/// A run in which one node meets trouble.
async fn disturbed(example: &'static Example, document: &Value, id: &str, fault: Fault) -> Vec<String> {
    let place = example.places.iter().find(|(node, _)| *node == id).map(|(_, place)| (*place).to_owned());
    let trouble = match fault {
        Fault::Call(how) => Some(Trouble { at: place.clone().unwrap_or_else(|| "/trouble".to_owned()), how }),
        _ => None,
    };
    let world = World::new(example, trouble);
    let server = world.serve().await;
    let mut document = document.clone();
    let node =
        nodes_mut(&mut document).find(|node| node.get("id").and_then(Value::as_str) == Some(id)).unwrap();
    node.insert("timeout_ms".to_owned(), 400_i64.into());
    node.insert("retry".to_owned(), Value::from_iter([("max", 1_i64), ("backoff_ms", 1)]));
    let replace = |node: &mut Object, kind: &str, with: Value| {
        node.insert("type".to_owned(), kind.into());
        node.insert("with".to_owned(), with);
    };
    match fault {
        Fault::SandboxKill => {
            let code =
                "def transform(inputs, context, state):\n    x = ['a']\n    while True:\n        x = x + x\n";
            replace(node, "python", Value::from_iter([("code", code)]));
            node.insert("timeout_ms".to_owned(), 20_000_i64.into());
        }
        _ if place.is_none() => {
            let url = format!("http://127.0.0.1:{}/trouble", server.port);
            replace(node, "http.get", Value::from_iter([("url", url.as_str())]));
            node.shift_remove("state");
        }
        _ => {}
    }
    let folder = project(example, &document, server.port);
    let finished = run(&folder).await;
    let report = match finished.object() {
        Ok(report) => report,
        Err(reason) => return vec![reason],
    };
    let mut problems = ends_once(&folder, &report, &finished).await;
    problems.extend(is_blamed(&document, &report, id, fault));
    problems.extend(counts(&report, &world.seen()));
    problems
}

/// Every node and the run ended in exactly one way, and the journal says the same.
async fn ends_once(folder: &Folder, report: &Value, finished: &Finished) -> Vec<String> {
    let mut problems = Vec::new();
    let status = text(report, "status").unwrap_or_default();
    let waits = report.pointer("/error/kind").and_then(Value::as_str) == Some("waiting");
    if (finished.code == 0) != (status == "ok") {
        problems.push(format!("exit code {} of a run that is {status}", finished.code));
    }
    for (id, node) in report.get("nodes").and_then(Value::as_object).into_iter().flatten() {
        let node = text(node, "status").unwrap_or_default();
        if !(["ok", "error", "skipped", "cancelled"].contains(&node) || (node == "waiting" && waits)) {
            problems.push(format!("{id} is {node}"));
        }
    }
    let listed = stave(folder, ["runs", "list", "--json"]).finish().await;
    let listed = listed.object().unwrap_or_default();
    let kept: Vec<&str> = items(&listed, "runs").iter().filter_map(|run| text(run, "status")).collect();
    if kept != [if waits { "waiting" } else { status }] {
        problems.push(format!("the run is {status}, and the journal has {kept:?}"));
    }
    problems
}

/// The codes with which a fault may be reported.
fn codes(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::Call(Misbehaviour::Slow) => &["step-timeout"],
        Fault::Call(Misbehaviour::TooManyRequests | Misbehaviour::ServerError) => {
            &["http-failed", "model-failed"]
        }
        Fault::Call(Misbehaviour::BadJson) => &["http-failed", "model-reply-invalid"],
        Fault::Call(Misbehaviour::WrongShape) => &["invalid-output", "model-reply-invalid"],
        Fault::SandboxKill | Fault::Cancel | Fault::Kill => &["code-failed", "step-timeout"],
    }
}

/// The node that met the trouble is the one that failed, unless a fallback answers for it.
fn is_blamed(document: &Value, report: &Value, id: &str, fault: Fault) -> Vec<String> {
    let mut problems = Vec::new();
    let Some(node) = report.pointer(&format!("/nodes/{id}")) else {
        return vec![format!("{id} has no report")];
    };
    let graph = document.get("graph").unwrap();
    let has_route = items(graph, "edges")
        .iter()
        .any(|edge| text(edge, "from") == Some(id) && text(edge, "on") == Some("failure"));
    let is_called = document_node(document, id).and_then(|node| node.get("tool")) == Some(&Value::Bool(true));
    let failed_at = report.pointer("/error/node").and_then(Value::as_str);
    match text(node, "status") {
        Some("error") => {
            let code = node.pointer("/error/code").and_then(Value::as_str).unwrap_or_default();
            if !codes(fault).contains(&code) {
                problems.push(format!("{id} failed with {code}"));
            }
            // The failure of a called node goes to its caller.
            let must_fail = !has_route && !is_called;
            if must_fail != (failed_at == Some(id)) {
                problems.push(format!("the run is blamed on {failed_at:?}"));
            }
            if !has_route {
                problems.extend(ran_after(document, report, id));
            }
        }
        Some("ok") => {
            let degraded = node.get("degraded") == Some(&Value::Bool(true));
            let plain_text = document_node(document, id).is_some_and(|node| {
                text(node, "type") == Some("llm.chat") && node.pointer("/with/output_schema").is_none()
            });
            let is_about_shape =
                matches!(fault, Fault::Call(Misbehaviour::BadJson | Misbehaviour::WrongShape));
            // A text takes whatever it is, also what is no JSON.
            let takes_text = plain_text || id == "fetch_file";
            if !(degraded || (takes_text && is_about_shape)) {
                problems.push(format!("{id} is ok although it met trouble"));
            }
        }
        // It was not on the way of this request.
        _ => {}
    }
    problems
}

fn document_node<'d>(document: &'d Value, id: &str) -> Option<&'d Value> {
    items(document.get("graph")?, "nodes").iter().find(|node| text(node, "id") == Some(id))
}

/// Nothing that needs a failed node has run.
fn ran_after(document: &Value, report: &Value, id: &str) -> Vec<String> {
    let edges = items(document.get("graph").unwrap(), "edges");
    let mut problems = Vec::new();
    for edge in
        edges.iter().filter(|edge| text(edge, "from") == Some(id) && text(edge, "on") == Some("success"))
    {
        let to = text(edge, "to").unwrap_or_default();
        let status = report.pointer(&format!("/nodes/{to}/status")).and_then(Value::as_str);
        if matches!(status, Some("ok")) {
            problems.push(format!("{to} ran although {id} failed"));
        }
    }
    problems
}

/// The report counts the calls that the world saw, and no effect has two keys.
fn counts(report: &Value, seen: &Seen) -> Vec<String> {
    let mut problems = Vec::new();
    let nodes = report.get("nodes").and_then(Value::as_object).into_iter().flatten();
    let calls: i64 = nodes.filter_map(|(_, node)| node.get("calls")?.as_i64()).sum();
    if calls != seen.calls as i64 {
        problems.push(format!("the report counts {calls} calls, and there were {}", seen.calls));
    }
    for (path, keys) in &seen.effects {
        if keys.len() > 1 {
            problems.push(format!("{path} was called under {} keys", keys.len()));
        }
    }
    problems
}

/// Waits until the journal has a run with so many steps, and gives the run.
async fn steps(database: &Path, wanted: usize) -> String {
    loop {
        if let Some((run, steps)) = progress(database)
            && steps >= wanted
        {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn progress(database: &Path) -> Option<(String, usize)> {
    if !database.is_file() {
        return None;
    }
    let connection = rusqlite::Connection::open(database).ok()?;
    let row = connection.query_row(
        "SELECT run.id, (SELECT count(*) FROM step WHERE step.run = run.id) FROM run",
        [],
        |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)),
    );
    row.ok().and_then(|(run, steps)| Some((run, usize::try_from(steps).ok()?)))
}

/// A run that another process cancels when so many steps have a result.
async fn cancelled(
    example: &'static Example,
    document: &Value,
    after: usize,
    baseline: &Baseline,
) -> Vec<String> {
    let world = World::new(example, None);
    let server = world.serve().await;
    let folder = project(example, document, server.port);
    let database = folder.path().join(".stave/stave.sqlite");
    let cancelling = async {
        let run = steps(&database, after).await;
        let connection = rusqlite::Connection::open(&database).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection.execute("UPDATE run SET cancel_requested = 1 WHERE id = ?1", [run]).unwrap();
    };
    let finished = tokio::select! {
        finished = run(&folder) => finished,
        finished = async { cancelling.await; std::future::pending::<Finished>().await } => finished,
    };
    let report = match finished.object() {
        Ok(report) => report,
        Err(reason) => return vec![reason],
    };
    let mut problems = Vec::new();
    let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.object().unwrap_or_default();
    let kept: Vec<&str> = items(&listed, "runs").iter().filter_map(|run| text(run, "status")).collect();
    // The wish may come when the last step is done.
    let is_done = text(&report, "status") == Some("ok");
    let wanted = if is_done { "ok" } else { "cancelled" };
    if kept != [wanted] {
        problems.push(format!("the run is {:?}, and the journal has {kept:?}", text(&report, "status")));
    }
    if !is_done && report.pointer("/error/kind").and_then(Value::as_str) != Some("cancelled") {
        problems.push(format!("the run failed otherwise: {:?}", report.get("error")));
    }
    for (path, keys) in &world.seen().effects {
        let most = baseline.seen.effects.get(path).map_or(0, BTreeSet::len);
        if keys.len() > most {
            problems.push(format!("{path} was called under {} keys", keys.len()));
        }
    }
    problems
}

/// A run whose process is killed when so many steps have a result, and which is then resumed.
async fn killed(
    example: &'static Example,
    document: &Value,
    after: usize,
    baseline: &Baseline,
) -> Vec<String> {
    let world = World::new(example, None);
    let server = world.serve().await;
    let folder = project(example, document, server.port);
    let database = folder.path().join(".stave/stave.sqlite");
    let moment = async {
        steps(&database, after).await;
    };
    stave(&folder, RUN).env("FORGE_TOKEN", "test").killed_at(moment).await;
    let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.object().unwrap_or_default();
    let Some(kept) = items(&listed, "runs").first() else { return vec!["no run is kept".to_owned()] };
    let id = text(kept, "run_id").unwrap_or_default();
    if text(kept, "status") == Some("interrupted") {
        let resumed =
            stave(&folder, ["runs", "resume", id, "--json"]).env("FORGE_TOKEN", "test").finish().await;
        if resumed.code != 0 {
            return vec![format!("the resumed run failed: {resumed}")];
        }
    }
    let mut problems = Vec::new();
    let shown = stave(&folder, ["runs", "show", id, "--json"]).finish().await.object().unwrap_or_default();
    if !same(shown.get("output").unwrap_or(&Value::Null), &baseline.first) {
        problems.push(format!("the output is {:?}", shown.get("output")));
    }
    for (path, keys) in &world.seen().effects {
        let wanted = baseline.seen.effects.get(path).map_or(0, BTreeSet::len);
        if keys.len() != wanted {
            problems.push(format!("{path} was called under {} keys instead of {wanted}", keys.len()));
        }
    }
    let written = features(&folder);
    if written != baseline.features {
        problems.push(format!("{written} rows of features are written instead of {}", baseline.features));
    }
    // What the session remembers is what one run would have left.
    let next = run(&folder).await.object().unwrap_or_default();
    if !same(next.get("output").unwrap_or(&Value::Null), &baseline.second) {
        problems.push(format!("the next turn gives {:?}", next.get("output")));
    }
    problems
}

#[test]
fn trouble_that_is_not_told_is_noticed() {
    let document = stave_canon::parse(
        r#"{"graph": {"nodes": [{"id": "a", "type": "python"}, {"id": "b", "type": "python"}],
            "edges": [{"from": "a", "to": "b", "on": "success"}]}}"#,
    )
    .unwrap();
    let found = |report: &str, fault| is_blamed(&document, &stave_canon::parse(report).unwrap(), "a", fault);
    let timeout = Fault::Call(Misbehaviour::Slow);
    let quiet = r#"{"status": "ok", "nodes": {"a": {"status": "ok"}, "b": {"status": "ok"}}}"#;
    assert_eq!(found(quiet, timeout).len(), 1);
    let elsewhere = r#"{"error": {"node": "b"}, "nodes": {"a": {"status": "error", "error": {"code": "x"}}, "b": {"status": "ok"}}}"#;
    assert_eq!(found(elsewhere, timeout).len(), 3, "the code, the node and what ran after it");
    let right = r#"{"error": {"node": "a"}, "nodes": {"a": {"status": "error", "error": {"code": "step-timeout"}}, "b": {"status": "cancelled"}}}"#;
    assert_eq!(found(right, timeout), [] as [String; 0]);
    let seen = Seen { calls: 2, ..Seen::default() };
    assert_eq!(counts(&stave_canon::parse(r#"{"nodes": {"a": {"calls": 1}}}"#).unwrap(), &seen).len(), 1);
}
