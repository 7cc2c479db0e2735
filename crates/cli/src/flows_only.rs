//! Commands that work on flows alone say so, instead of taking another source for a flow full of mistakes.

use std::path::Path;

use crate::exit::Stop;
use crate::source_kind::SourceKind;

/// Refuses a file that is named like a workflow, a policy or an exec document. `command` is what was asked for.
pub(crate) fn require_flow(file: &Path, command: &str) -> Result<(), Stop> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let what = match SourceKind::of(file) {
        Some(SourceKind::Workflow) => "a workflow",
        Some(SourceKind::Policy) => "a policy",
        _ if name.ends_with(".ir.json") => "an exec document",
        _ => return Ok(()),
    };
    let stop = Stop::invalid(format!("{} is {what}, and `stave {command}` takes flows", file.display()));
    Err(stop.help("workflows and policies have `check`, `fmt`, `graph`, `diff`, `compile` and `run`"))
}
