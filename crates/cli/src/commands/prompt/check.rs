//! `stave prompt check`: types, ranges, versions, and what the policies say, at line and column.

use stave_diag::{Diagnostic, render, sort};
use stave_prompt::{diagnose_requirements, diagnose_verdict};

use super::Task;
use super::arguments::Selected;
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

pub(super) fn check(selected: &Selected, terminal: Terminal) -> Result<Exit, Stop> {
    let task = Task::read(selected, terminal)?;
    let mut diagnostics = task.documents.faults();
    let is_invalid = !diagnostics.is_empty();
    let mut is_denied = false;
    for document in &task.documents.documents {
        if let Ok(ir) = &document.prompt {
            let verdict = task.policies.check(ir);
            is_denied |= !verdict.approved();
            diagnostics.extend(diagnose_verdict(document.source, &document.text, &verdict));
            diagnostics.extend(diagnose_requirements(document.source, &document.text, ir));
        }
    }
    sort(&mut diagnostics);
    let sources = &task.documents.sources;
    if selected.json {
        terminal::out(render::json::render(&diagnostics, sources).trim_end());
    } else {
        let text = render::terminal::render(&diagnostics, sources, terminal.stderr);
        if !text.is_empty() {
            terminal::error_styled(text.trim_end());
            terminal::error("");
        }
        let count = task.documents.documents.len();
        let counted = if count == 1 { "1 prompt".to_owned() } else { format!("{count} prompts") };
        terminal::error(&format!("checked {counted}: {}", render::summary(&diagnostics)));
        if let Some(first) = diagnostics.iter().find(|found: &&Diagnostic| found.is_error()) {
            terminal::error(&format!("`stave explain {}` says more", first.code));
        }
    }
    Ok(match (is_denied, is_invalid) {
        (true, _) => Exit::Refused,
        (false, true) => Exit::Invalid,
        (false, false) => Exit::Fine,
    })
}
