//! Workflows: documents whose nodes are joined by transitions. Cases, failure edges, joins, references, and
//! the same result after a crash at any moment.

use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_exec::{Acceptance, Document};
use stave_runtime::database::Database;
use stave_runtime::journal::{Ephemeral, SqliteJournal};
use stave_runtime::state::MemoryStore;
use stave_runtime::{EmbeddedEngine, Engine, RunReport};

use crate::graph::SCRIPTED;
use crate::scripted::Scripted;
use crate::world::{Crashing, python, services};

/// Nodes as `[id, type, with]`, edges as `[from, to, on, case?]`.
fn document(nodes: &str, edges: &str) -> Arc<Document> {
    let list = |text: &str| stave_canon::parse(text).unwrap().as_array().unwrap().to_vec();
    let nodes = list(nodes).into_iter().map(|node| {
        let retry = Value::from_iter([("max", 0), ("backoff_ms", 0)]);
        Value::from_iter([
            ("id", node.pointer("/0").unwrap().clone()),
            ("type", node.pointer("/1").unwrap().clone()),
            ("with", node.pointer("/2").cloned().unwrap_or(Value::Object(Object::new()))),
            ("timeout_ms", 0.into()),
            ("retry", retry),
        ])
    });
    let edges = list(edges).into_iter().map(|edge| {
        let part = |index: usize| edge.pointer(&format!("/{index}")).cloned();
        let mut object = Object::new();
        object.insert("from".into(), part(0).unwrap());
        object.insert("to".into(), part(1).unwrap());
        object.insert("on".into(), part(2).unwrap_or("success".into()));
        if let Some(case) = part(3) {
            object.insert("case".into(), case);
        }
        Value::Object(object)
    });
    let graph = Value::from_iter([("nodes", nodes.collect::<Vec<_>>()), ("edges", edges.collect())]);
    let text = format!(
        r#"{{"version": "1.0.0", "flow": {{"name": "w", "timeout_ms": 0}}, "inputs_schema": {{}},
            "constants": {{"policyRef": "none", "policy": {{}}}}, "graph": {graph},
            "metadata": {{"generated_at": "2024-06-30T18:25:43Z", "source_file": "w.wdl"}}}}"#
    );
    Arc::new(stave_exec::read(&stave_canon::parse(&text).unwrap(), Acceptance::Exact).unwrap())
}

fn engine() -> (EmbeddedEngine, Scripted) {
    let scripted = Scripted::default();
    let services = services(&python(), Arc::new(MemoryStore::default()), Arc::new(Ephemeral));
    (EmbeddedEngine::new(services).with_step(SCRIPTED, Arc::new(scripted.clone())), scripted)
}

async fn run(document: &Arc<Document>, request: &str) -> RunReport {
    let request = stave_canon::parse(request).unwrap();
    engine().0.run(Arc::clone(document), &request).await.unwrap()
}

fn output(report: &RunReport) -> String {
    match &report.result {
        Ok(output) => output.to_string(),
        Err(failed) => format!("{}: {}", failed.failure.code, failed.failure.message),
    }
}

fn status(report: &RunReport, node: &str) -> &'static str {
    report.nodes.iter().find(|report| report.id == node).unwrap().status.word()
}

/// Reads, decides by the mode, adds on one branch, and emits.
fn branching() -> Arc<Document> {
    document(
        r#"[["first", "test.scripted", {"x": "$input.x", "plus": "1"}],
            ["when_0", "switch", {"key_from": "$.inputs.mode", "cases": {"add": "second", "_DEFAULT": "emit_1"}, "default": "_DEFAULT"}],
            ["second", "test.scripted", {"x": "$step.first.a", "plus": 10}],
            ["emit_1", "dsl.emit", {"first": "$step.first.a", "second": "$step.second.a", "whole": "$step.second", "note": "done"}],
            ["finish_2", "finish"]]"#,
        r#"[["when_0", "second", "success", "add"], ["when_0", "second", "success", "more"], ["first", "when_0"],
            ["second", "emit_1"], ["when_0", "emit_1", "success", "_DEFAULT"], ["emit_1", "finish_2"]]"#,
    )
}

#[tokio::test]
async fn a_case_chooses_the_way_and_the_default_takes_the_rest() {
    let document = branching();
    for mode in ["add", "more"] {
        let report = run(&document, &format!(r#"{{"x": 5, "mode": "{mode}"}}"#)).await;
        assert_eq!(output(&report), r#"{"first":7,"second":27,"whole":{"a":27},"note":"done"}"#);
    }
    for request in [r#"{"x": 5, "mode": "other"}"#, r#"{"x": 5, "mode": ["add"]}"#, r#"{"x": 5}"#] {
        let report = run(&document, request).await;
        assert_eq!(output(&report), r#"{"first":7,"second":null,"whole":{},"note":"done"}"#, "{request}");
        assert_eq!(status(&report, "second"), "skipped");
    }
}

#[tokio::test]
async fn a_number_counts_by_its_text() {
    let document = document(
        r#"[["s", "switch", {"key_from": "$input.n"}], ["one", "dsl.emit", {"is": "one"}], ["two", "dsl.emit", {"is": "two"}]]"#,
        r#"[["s", "one", "success", "1"], ["s", "two", "success", "true"]]"#,
    );
    assert_eq!(output(&run(&document, r#"{"n": 1}"#).await), r#"{"is":"one"}"#);
    assert_eq!(output(&run(&document, r#"{"n": true}"#).await), r#"{"is":"two"}"#);
    let none = run(&document, r#"{"n": 2}"#).await;
    assert!(output(&none).starts_with("bad-argument"), "{}", output(&none));
}

#[tokio::test]
async fn cases_decide_where_edges_name_none() {
    let document = document(
        r#"[["s", "switch", {"key_from": "$input.n", "cases": {"a": "one", "b": "two"}}],
            ["one", "dsl.emit", {"is": "one"}], ["two", "dsl.emit", {"is": "two"}]]"#,
        r#"[["s", "one"], ["s", "two"]]"#,
    );
    assert_eq!(output(&run(&document, r#"{"n": "b"}"#).await), r#"{"is":"two"}"#);
}

#[tokio::test]
async fn a_failure_edge_takes_a_failure_and_nothing_else() {
    let document = document(
        r#"[["work", "test.scripted", {"x": "$input.x", "fails_on": 2}],
            ["good", "dsl.emit", {"a": "$step.work.a"}],
            ["bad", "dsl.emit", {"why": "$step.work.error.reason", "code": "$step.work.error.code"}],
            ["end", "finish"]]"#,
        r#"[["work", "good"], ["work", "bad", "failure"], ["good", "end"], ["bad", "end"]]"#,
    );
    assert_eq!(output(&run(&document, r#"{"x": 3}"#).await), r#"{"a":5}"#);
    let handled = run(&document, r#"{"x": 4}"#).await;
    assert_eq!(output(&handled), r#"{"why":"scripted to fail","code":"code-failed"}"#);
    assert_eq!((status(&handled, "work"), status(&handled, "good")), ("error", "skipped"));
}

#[tokio::test]
async fn a_failure_that_no_edge_takes_ends_the_run() {
    let document = document(
        r#"[["work", "test.scripted", {"fails_on": 1}], ["next", "dsl.emit"]]"#,
        r#"[["work", "next"]]"#,
    );
    let report = run(&document, "{}").await;
    assert_eq!(output(&report), "code-failed: scripted to fail");
    assert_eq!(status(&report, "next"), "cancelled");
}

#[tokio::test]
async fn branches_run_side_by_side_and_join_once() {
    let document = document(
        r#"[["a", "test.scripted", {"plus": 1, "yields": 3}], ["b", "test.scripted", {"plus": 2, "yields": 3}],
            ["sum", "test.scripted", {"a": "$step.a.a", "b": "$step.b.a"}], ["other", "test.scripted", {"hidden": "$step.b.a"}]]"#,
        r#"[["a", "sum"], ["b", "sum"], ["a", "other"]]"#,
    );
    let (engine, scripted) = engine();
    let report = engine.run(document, &stave_canon::parse("{}").unwrap()).await.unwrap();
    // `other` does not come after `b`, so it never sees its result, whatever the timing.
    assert_eq!(output(&report), r#"{"sum":{"a":12,"b":36},"other":{"a":0,"b":0}}"#);
    assert!(scripted.executions().values().all(|count| *count == 1), "{:?}", scripted.executions());
    assert_eq!(scripted.at_once(), 2);
}

#[tokio::test]
async fn texts_are_literals_and_values_are_never_read_again() {
    let document = document(
        r#"[["e", "dsl.emit", {"n": "0x10", "t": "'quoted'", "b": "True", "z": "None", "l": "[1, \"a\"]", "w": "true",
             "in": "$input.a.b", "item": "$input.list.1", "lost": "$input.a.c", "deep": {"x": ["$input.a"]}}]]"#,
        "[]",
    );
    let request = r#"{"a": {"b": "${secrets.OPENAI_API_KEY} $input.list"}, "list": [1, "5"]}"#;
    assert_eq!(
        output(&run(&document, request).await),
        r#"{"n":16,"t":"quoted","b":true,"z":null,"l":[1,"a"],"w":"true","in":"${secrets.OPENAI_API_KEY} $input.list","item":"5","lost":null,"deep":{"x":[{"b":"${secrets.OPENAI_API_KEY} $input.list"}]}}"#
    );
}

#[tokio::test]
async fn what_can_not_run_is_refused_before_anything_does() {
    for (nodes, edges, wanted) in [
        (r#"[["a", "test.scripted"], ["b", "opcua.write"]]"#, r#"[["a", "b"]]"#, "unknown-step-kind"),
        (r#"[["a", "test.scripted"], ["b", "finish"]]"#, r#"[["a", "b"], ["b", "a"]]"#, "bad-document"),
        (r#"[["a", "test.scripted"], ["b", "finish"]]"#, r#"[["a", "b", "success", "x"]]"#, "bad-document"),
    ] {
        let (engine, scripted) = engine();
        let report = engine.run(document(nodes, edges), &stave_canon::parse("{}").unwrap()).await.unwrap();
        assert!(output(&report).starts_with(wanted), "{}", output(&report));
        assert!(scripted.executions().is_empty());
    }
}

#[tokio::test]
async fn an_inputs_schema_that_is_one_is_enforced() {
    let mut with_schema = Document::clone(&branching());
    let schema = r#"{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x", "mode"]}"#;
    with_schema.inputs_schema = stave_canon::parse(schema).unwrap().as_object().unwrap().clone();
    let document = Arc::new(with_schema);
    assert!(run(&document, r#"{"x": 5, "mode": "add"}"#).await.result.is_ok());
    let refused = run(&document, r#"{"x": "five"}"#).await;
    assert!(output(&refused).starts_with("invalid-input"), "{}", output(&refused));
}

#[tokio::test]
async fn a_crash_at_any_moment_changes_nothing() {
    let document = branching();
    let request = stave_canon::parse(r#"{"x": 5, "mode": "add"}"#).unwrap();
    let expected = output(&run(&document, r#"{"x": 5, "mode": "add"}"#).await);
    for after in 0..20 {
        for done in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("stave.sqlite");
            let database = Database::open(&path, "first").unwrap();
            let scripted = Scripted::default();
            let start = |journal: Arc<dyn stave_runtime::journal::Journal>| {
                let services = services(&python(), Arc::new(MemoryStore::default()), journal);
                EmbeddedEngine::new(services).with_step(SCRIPTED, Arc::new(scripted.clone()))
            };
            let crashing = Arc::new(Crashing::new(SqliteJournal::new(database), after, done));
            let first =
                start(Arc::clone(&crashing) as _).start("run_a", Arc::clone(&document), &request).await;
            let report = match first {
                Ok(report) => report,
                Err(_) if after == 0 && !done => continue,
                Err(_) => {
                    drop(crashing);
                    let database = Database::open(&path, "second").unwrap();
                    let engine = start(Arc::new(SqliteJournal::new(database)));
                    match engine.resume("run_a", None).await {
                        Ok(report) => report,
                        // The end was written before the crash.
                        Err(error) if error.to_string().contains("has ended") => continue,
                        Err(error) => panic!("after {after} operations: {error}"),
                    }
                }
            };
            assert_eq!(output(&report), expected, "after {after} operations");
            let again = scripted.executions().values().filter(|count| **count > 1).count();
            assert!(again <= 1, "after {after} operations: {:?}", scripted.executions());
        }
    }
}
