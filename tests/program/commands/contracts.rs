//! `stave run --contracts`: a run keeps to the budgets and keys that a system document promises.

use stave_canon::Value;

use super::sample::{DOUBLE, LOOPBACK, asker};
use crate::folder::Folder;
use crate::json::values;
use crate::process::{Finished, stave};
use crate::scripted::model::ModelScript;

/// A document of somebody else: one step, and an intent, each with these bounds.
fn foreign(step: &str, inputs: &str, outputs: &str, budget: &str, intent: &str) -> String {
    let budgeted = |budget: &str| {
        if budget.is_empty() { String::new() } else { format!(r#", "runtime_budget": {budget}"#) }
    };
    let trigger = r#"[{"trigger_id": "t", "source": "elsewhere", "details": {}}]"#;
    format!(
        r#"{{"schema_kind": "akc_ir", "schema_version": 2, "format_version": "2.0",
            "tenant_id": "local", "repo_id": "elsewhere", "nodes": [
            {{"id": "irn_1", "tenant_id": "local", "kind": "workflow", "name": "{step}", "properties": {{}},
              "depends_on": [], "contract": {{"contract_id": "opc_step", "contract_category": "runtime",
              "triggers": {trigger}, "io_contract": {{"input_keys": {inputs}, "output_keys": {outputs}}}{}}}}},
            {{"id": "irn_2", "tenant_id": "local", "kind": "intent", "name": "all of it", "properties": {{}},
              "depends_on": [], "contract": {{"contract_id": "opc_run", "contract_category": "acceptance",
              "triggers": {trigger}, "io_contract": {{"input_keys": ["n"], "output_keys": ["text"]}}{}}}}}]}}"#,
        budgeted(budget),
        budgeted(intent),
    )
}

async fn doubled(contracts: &str) -> Finished {
    let folder = Folder::new();
    folder.write("flow.yaml", DOUBLE);
    folder.write("contracts.json", contracts);
    let arguments = ["run", "flow.yaml", "--input", "-", "--contracts", "contracts.json", "--json"];
    stave(&folder, arguments).input(r#"{"n": 4}"#).finish().await
}

#[track_caller]
fn error<'f>(report: &'f Value, key: &str) -> &'f str {
    report.pointer(&format!("/error/{key}")).and_then(Value::as_str).unwrap_or_else(|| panic!("{report}"))
}

#[tokio::test]
async fn a_flow_keeps_to_the_contracts_that_were_compiled_from_it() {
    let folder = Folder::new();
    folder.write("flows/double.yaml", DOUBLE);
    let compile = ["compile", "flows/double.yaml", "--out", "out", "--emit", "exec,system,bundle"];
    stave(&folder, compile).finish().await.exits(0);
    let of = |part: &str| {
        let found = folder.files().into_iter().map(|(path, _)| path);
        let mut found = found.filter(|path| path.to_string_lossy().contains(part));
        found.next().unwrap_or_else(|| panic!("no {part}")).display().to_string()
    };
    for contracts in [of(".akc/ir/"), of("runtime_bundle")] {
        let contracts = folder.path().join(contracts).display().to_string();
        let arguments = ["run", "out/flows/doubler.ir.json", "--input", "-", "--contracts", &contracts];
        stave(&folder, arguments).input(r#"{"n": 4}"#).finish().await.exits(0);
    }
}

#[tokio::test]
async fn keys_that_the_contract_does_not_have_stop_the_run() {
    let fine = foreign("double", r#"["n"]"#, r#"["n"]"#, "", "");
    doubled(&fine).await.exits(0);
    let report = doubled(&foreign("double", r#"["m"]"#, r#"["n"]"#, "", "")).await.exits(3).json();
    assert_eq!((error(&report, "code"), error(&report, "node")), ("invalid-input", "double"));
    assert!(error(&report, "message").contains("opc_step"), "{report}");
    let report = doubled(&foreign("show", r#"["n"]"#, r#"["title"]"#, "", "")).await.exits(3).json();
    assert_eq!((error(&report, "code"), error(&report, "node")), ("invalid-output", "show"));
    assert_eq!(
        report.pointer("/nodes/double/status").and_then(Value::as_str),
        Some("ok"),
        "the work is kept"
    );
}

#[tokio::test]
async fn a_run_that_uses_more_steps_or_time_than_promised_is_stopped() {
    let one_step = foreign("double", r#"["n"]"#, r#"["n"]"#, "", r#"{"max_steps": 1}"#);
    let report = doubled(&one_step).await.exits(1).json();
    assert_eq!((error(&report, "code"), error(&report, "node")), ("budget-exceeded", "show"));
    assert_eq!(
        report.pointer("/nodes/double/status").and_then(Value::as_str),
        Some("ok"),
        "the work is kept"
    );
    doubled(&foreign("double", r#"["n"]"#, r#"["n"]"#, "", r#"{"max_steps": 2, "max_seconds": 60}"#))
        .await
        .exits(0);
    let no_time = foreign("double", r#"["n"]"#, r#"["n"]"#, r#"{"max_seconds": 0}"#, "");
    let report = doubled(&no_time).await.exits(1).json();
    assert_eq!((error(&report, "code"), error(&report, "kind")), ("budget-exceeded", "budget"));
    let no_attempt = foreign("double", r#"["n"]"#, r#"["n"]"#, r#"{"max_steps": 0}"#, "");
    assert_eq!(error(&doubled(&no_attempt).await.exits(1).json(), "code"), "budget-exceeded");
}

#[tokio::test]
async fn a_model_is_asked_for_no_more_than_the_contract_allows() {
    let model = ModelScript::new(&values(r#"[{"content": "Because it is so."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", asker(server.port));
    let run = |tokens: u32| {
        let budget = format!(r#"{{"max_tokens": {tokens}}}"#);
        folder.write("contracts.json", foreign("ask", r#"["q"]"#, r#"["a"]"#, &budget, ""));
        let arguments = ["run", "flow.yaml", "--input", "-", "--contracts", "contracts.json", "--json"];
        stave(&folder, arguments).input(r#"{"q": "Why?"}"#).finish()
    };
    run(50).await.exits(0);
    let sent = stave_canon::parse_bytes(&model.log.lock().calls[0].body).unwrap();
    let asked = ["max_tokens", "max_completion_tokens"].iter().find_map(|key| sent.get(key));
    assert_eq!(asked.and_then(Value::as_i64), Some(50), "{sent}");
    let report = run(0).await.exits(1).json();
    assert_eq!(error(&report, "code"), "budget-exceeded");
    assert_eq!(model.log.lock().calls.len(), 1, "nothing was asked");
}

#[tokio::test]
async fn a_document_about_something_else_is_refused() {
    let other = doubled(&foreign("elsewhere", r#"["n"]"#, r#"["n"]"#, "", "")).await.exits(2);
    assert!(other.stdout.contains("no runtime contract"), "{other}");
}
