//! One run row: scripted servers, one process per request, and the comparison.

use std::collections::BTreeSet;

use stave_canon::Value;

use super::row::RunRow;
use crate::folder::Folder;
use crate::json::{same, shown, text};
use crate::process::{Finished, stave};
use crate::scripted::host::HostScript;
use crate::scripted::model::ModelScript;

/// What happened when a row was run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The report and the process of each request, up to the first that gave no report.
    pub(crate) reports: Vec<(Value, Finished)>,
    pub(crate) model_calls: usize,
    pub(crate) http_calls: usize,
    /// What the servers did not expect, and why there are reports missing.
    pub(crate) problems: Vec<String>,
}

/// What is wrong with the row's outcome; nothing when it passes.
pub(super) async fn problems(row: &RunRow) -> Vec<String> {
    let outcome = perform(row, "flow.yaml", unchanged).await;
    compare(row, &outcome)
}

/// The flow itself is what is run.
pub(crate) fn unchanged(yaml: &str) -> Result<String, String> {
    Ok(yaml.to_owned())
}

/// Runs every request of a row. `document` turns the flow, with its ports filled in, into the text of the
/// file that is run.
pub(crate) async fn perform<D>(row: &RunRow, file: &str, document: D) -> Outcome
where
    D: FnOnce(&str) -> Result<String, String>,
{
    let (model, host) = (ModelScript::new(&row.model), HostScript::new(&row.http));
    let (model_server, host_server) = (model.serve().await, host.serve().await);
    let yaml = row
        .yaml
        .replace("{MODEL_PORT}", &model_server.port.to_string())
        .replace("{HTTP_PORT}", &host_server.port.to_string());
    let mut problems = Vec::new();
    let mut reports = Vec::new();
    match document(&yaml) {
        Ok(text) => match run(row, file, &text, &mut reports).await {
            Ok(()) => {}
            Err(reason) => problems.push(reason),
        },
        Err(reason) => problems.push(reason),
    }
    let (mut model, mut host) = (model.log.lock(), host.log.lock());
    problems.append(&mut model.problems);
    problems.append(&mut host.problems);
    Outcome { reports, model_calls: model.calls.len(), http_calls: host.calls.len(), problems }
}

async fn run(
    row: &RunRow,
    file: &str,
    text: &str,
    reports: &mut Vec<(Value, Finished)>,
) -> Result<(), String> {
    let folder = Folder::new();
    folder.write(file, text);
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    for request in &row.requests {
        folder.write("request.json", request.to_string());
        let mut arguments = vec!["run", file, "--input", "request.json", "--json"];
        if row.is_session {
            arguments.extend(["--state-dir", "state"]);
        }
        let finished = stave(&folder, arguments).outcome().await?;
        reports.push((finished.object()?, finished));
    }
    Ok(())
}

/// What differs between an outcome and the row's expectation.
pub(crate) fn compare(row: &RunRow, outcome: &Outcome) -> Vec<String> {
    let mut problems = Vec::new();
    let mut skipped = BTreeSet::new();
    for (index, (report, finished)) in outcome.reports.iter().enumerate() {
        let place = if row.is_session { format!("request {}: ", index + 1) } else { String::new() };
        let wanted = row.statuses[index].as_str();
        if text(report, "status") != Some(wanted) {
            problems.push(format!("{place}the status is not {wanted:?}\n{finished}"));
        } else if wanted == "ok" {
            let output = report.get("output").unwrap_or(&Value::Null);
            if !same(output, &row.outputs[index]) {
                let wanted = shown(&row.outputs[index]);
                problems.push(format!("{place}the output is {}, expected {wanted}", shown(output)));
            }
        }
        let nodes = report.get("nodes").and_then(Value::as_object).into_iter().flatten();
        skipped.extend(
            nodes.filter(|(_, node)| text(node, "status") == Some("skipped")).map(|(id, _)| id.clone()),
        );
    }
    if problems.is_empty() && outcome.reports.len() == row.requests.len() {
        let skipped: Vec<String> = skipped.into_iter().collect();
        if row.skipped.as_ref().is_some_and(|wanted| *wanted != skipped) {
            problems.push(format!("skipped {skipped:?}, expected {:?}", row.skipped));
        }
        for (what, calls, wanted) in
            [("model", outcome.model_calls, row.model_calls), ("http", outcome.http_calls, row.http_calls)]
        {
            if calls as u64 != wanted {
                problems.push(format!("{calls} {what} calls, expected {wanted}"));
            }
        }
    }
    problems.extend(outcome.problems.iter().cloned());
    problems
}
