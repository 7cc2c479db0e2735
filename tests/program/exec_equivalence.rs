//! A runtime that has nothing but the exec document runs the flow: every run row, lowered to a document
//! and run from that file alone, gives what the row expects and fails the way the flow fails.

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources};
use stave_flow::CheckOptions;
use stave_lower::{ExecSettings, flow_to_exec};

use crate::batch;
use crate::flow_rows::row::{RunRow, run_rows};
use crate::flow_rows::run::{Outcome, compare, perform, unchanged};
use crate::folder::{Folder, repository};
use crate::process::stave;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_of_a_flow_runs_as_the_flow_does() {
    let cases = run_rows().into_iter().map(|row| (row.name.clone(), async move { problems(&row).await }));
    batch::assert_only_listed_fail(&batch::run(cases).await, "", "exec_equivalence.rs");
}

async fn problems(row: &RunRow) -> Vec<String> {
    let of_document = perform(row, "flow.ir.json", lowered).await;
    let mut problems = compare(row, &of_document);
    if row.statuses.iter().any(|status| status == "error") {
        let of_flow = perform(row, "flow.yaml", unchanged).await;
        let (wanted, found) = (failures(&of_flow), failures(&of_document));
        if wanted != found {
            problems.push(format!("the flow fails with {wanted:?}, its document with {found:?}"));
        }
    }
    problems
}

/// The text of the exec document of a flow.
fn lowered(yaml: &str) -> Result<String, String> {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", yaml);
    let parsed = stave_flow::load(source, yaml, &CheckOptions::default());
    if let Some(error) = parsed.diagnostics.iter().find(|found| Diagnostic::is_error(found)) {
        return Err(format!("the flow is not valid: {}", error.message));
    }
    let flow = parsed.flow.ok_or("the flow cannot be read")?;
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: stave_canon::Object::new(),
        default_model: None,
        templates: Default::default(),
        generated_at: "2026-01-01T00:00:00Z".to_owned(),
        source_file: "flow.yaml".to_owned(),
    };
    Ok(stave_exec::encode(&flow_to_exec(&flow, &sources, &settings)))
}

/// Code and node of the failure of each request.
fn failures(outcome: &Outcome) -> Vec<(Option<&str>, Option<&str>)> {
    outcome
        .reports
        .iter()
        .map(|(report, _)| {
            let member = |pointer: &str| report.pointer(pointer).and_then(Value::as_str);
            (member("/error/code"), member("/error/node"))
        })
        .collect()
}

/// What of a report is the same however the flow was given.
fn essence(report: &Value) -> Value {
    let runs =
        report.get("runs").and_then(Value::as_array).map_or_else(|| vec![report.clone()], <[Value]>::to_vec);
    let runs = runs.iter().map(|run| {
        let statuses = run.get("nodes").and_then(Value::as_object).into_iter().flatten();
        let statuses =
            statuses.map(|(id, node)| (id.clone(), node.get("status").cloned().unwrap_or_default()));
        Value::from_iter([
            ("status", run.get("status").cloned().unwrap_or_default()),
            ("output", run.get("output").cloned().unwrap_or_default()),
            ("error", run.pointer("/error/code").cloned().unwrap_or_default()),
            ("nodes", statuses.collect()),
        ])
    });
    Value::Array(runs.collect())
}

/// The names of the files in a folder that end like this.
fn names(folder: &std::path::Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_run_from_their_documents_as_from_their_flows() {
    let mut compared = 0;
    for example in names(&repository().join("examples"), "") {
        let path = format!("examples/{example}");
        let root = repository().join(&path);
        let requests: Vec<String> = names(&root.join("requests"), "json")
            .into_iter()
            .chain(names(&root.join("requests"), "jsonl"))
            .collect();
        for flow in names(&root.join("flows"), ".yaml") {
            for request in &requests {
                // Each run begins without anything that another one remembered.
                let (of_flow, of_document) = (Folder::copy_of(&path), Folder::copy_of(&path));
                let (flow, input) = (format!("flows/{flow}"), format!("requests/{request}"));
                let wanted = stave(&of_flow, ["run", &flow, "--input", &input, "--json"]).finish().await;
                let compile = ["compile", &flow, "--out", "out", "--emit", "exec"];
                stave(&of_document, compile).finish().await.exits(0);
                let document = names(&of_document.path().join("out/flows"), ".ir.json").remove(0);
                let document = format!("out/flows/{document}");
                let found =
                    stave(&of_document, ["run", &document, "--input", &input, "--json"]).finish().await;
                assert_eq!(found.code, wanted.code, "{path} {flow} {request}\n{wanted}\n{found}");
                let (wanted, found) = (essence(&wanted.json()), essence(&found.json()));
                assert_eq!(found, wanted, "{path} {flow} {request}");
                compared += 1;
            }
        }
    }
    assert!(compared > 0, "there are examples");
}
