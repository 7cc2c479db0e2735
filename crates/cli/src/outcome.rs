//! The outcome of a run: its exit code, and what people see of it.

use stave_runtime::{FailureKind, RunFailure, RunReport, Status};

use crate::exit::{Exit, Stop};
use crate::table;
use crate::terminal::{self, Terminal};

pub(crate) fn exit_of(report: &RunReport) -> Exit {
    match &report.result {
        Ok(_) => Exit::Fine,
        Err(_) if report.is_refused() => Exit::Refused,
        Err(_) => Exit::Failed,
    }
}

/// The answer on stdout; the table of nodes, and what went wrong where, on stderr.
pub(crate) fn print(report: &RunReport, terminal: Terminal) {
    terminal::error_styled(&table::nodes(report, report.status(), terminal.stderr));
    match &report.result {
        Ok(output) => terminal::out(&stave_canon::pretty_insertion_utf8(output)),
        Err(failed) => terminal.stop(&stop_of(report, failed)),
    }
    handled(report).for_each(|note| terminal::error(&note));
}

/// All of that on stdout, where the report is what was asked for.
pub(crate) fn print_shown(report: &RunReport, terminal: Terminal) {
    terminal::out_styled(&table::nodes(report, report.status(), terminal.stdout));
    match &report.result {
        Ok(output) => terminal::out(&stave_canon::pretty_insertion_utf8(output)),
        Err(failed) => {
            let terminal = Terminal { stderr: terminal.stdout, ..terminal };
            terminal::out_styled(&terminal.stop_text(&stop_of(report, failed)));
        }
    }
    handled(report).for_each(|note| terminal::out(&note));
}

/// Why a run has no answer, and what to do.
fn stop_of(report: &RunReport, failed: &RunFailure) -> Stop {
    let failure = &failed.failure;
    let run = &report.run_id;
    match failure.kind {
        FailureKind::Interrupted => {
            Stop::invalid(&failure.message).help(format!("`stave runs resume {run}` continues it"))
        }
        FailureKind::Waiting => {
            let node = failed.node.as_deref().unwrap_or("NODE");
            Stop::invalid(&failure.message)
                .help(format!("`stave runs approve {run} {node}` approves it; with --deny it is denied"))
        }
        _ => {
            let place =
                failure.origin.map(|origin| format!(" (line {}, column {})", origin.line, origin.column));
            let node = failed.node.as_ref().map_or_else(String::new, |node| format!("node `{node}`: "));
            let message = format!("{node}{}{}", failure.message.trim_end(), place.unwrap_or_default());
            Stop::invalid(message).help(format!("`stave explain {}` says more", failure.code))
        }
    }
}

/// What failed in a run that has an answer.
fn handled(report: &RunReport) -> impl Iterator<Item = String> {
    let failed = report.nodes.iter().filter(|node| node.status == Status::Error && report.result.is_ok());
    failed.filter_map(|node| {
        let failure = node.failure.as_ref()?;
        Some(format!("note: `{}` failed and was handled: {}", node.id, failure.message))
    })
}
