//! A runtime that has nothing but the exec document runs the flow: every run row, lowered to a document
//! and run from that file alone, gives what the row expects and fails the way the flow fails.

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources};
use stave_flow::Options;
use stave_lower::{ExecSettings, flow_to_exec};

use crate::batch;
use crate::flow_rows::row::{RunRow, run_rows};
use crate::flow_rows::run::{Outcome, compare, perform, unchanged};

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
    let parsed = stave_flow::load(source, yaml, &Options::default());
    if let Some(error) = parsed.diagnostics.iter().find(|found| Diagnostic::is_error(found)) {
        return Err(format!("the flow is not valid: {}", error.message));
    }
    let flow = parsed.flow.ok_or("the flow can not be read")?;
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: stave_canon::Object::new(),
        default_model: None,
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
