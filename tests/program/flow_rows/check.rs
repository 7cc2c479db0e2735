//! One check row: the lines of the errors, and the exit code.

use stave_canon::Value;

use super::row::CheckRow;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

/// What is wrong with the row's outcome; nothing when it passes.
pub(super) async fn problems(row: &CheckRow) -> Vec<String> {
    let folder = Folder::new();
    folder.write("flow.yaml", &row.yaml);
    let finished = match stave(&folder, ["check", "--format", "json", "flow.yaml"]).outcome().await {
        Ok(finished) => finished,
        Err(reason) => return vec![reason],
    };
    let document = match finished.object() {
        Ok(document) => document,
        Err(reason) => return vec![reason],
    };
    let errors: Vec<&Value> = items(&document, "diagnostics")
        .iter()
        .filter(|diagnostic| text(diagnostic, "severity") == Some("error"))
        .collect();
    let line = |diagnostic: &Value| diagnostic.get("line").and_then(Value::as_i64).unwrap_or(-1);
    let mut lines: Vec<i64> = errors.iter().map(|error| line(error)).collect();
    lines.sort_unstable();
    let said: Vec<String> = errors
        .iter()
        .map(|error| format!("{}: {}", line(error), text(error, "message").unwrap_or_default()))
        .collect();
    let said = said.join("; ");
    let mut problems = Vec::new();
    match &row.error_lines {
        None if lines.len() == 1 => {}
        None => problems.push(format!("{} errors, expected exactly one: {said}", lines.len())),
        Some(wanted) if *wanted == lines => {}
        Some(wanted) => problems.push(format!("errors on lines {lines:?}, expected {wanted:?}: {said}")),
    }
    let code = if row.ok { 0 } else { 2 };
    if finished.code != code {
        problems.push(format!("exit code {}, expected {code}", finished.code));
    }
    problems
}
