//! What a run came to: its exit code, and what people see of it.

use stave_runtime::{FailureKind, RunReport, Status};

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
        Err(failed) => {
            let place = failed
                .failure
                .origin
                .map(|origin| format!(" (line {}, column {})", origin.line, origin.column));
            let node = failed.node.as_ref().map_or_else(String::new, |node| format!("node `{node}`: "));
            if failed.failure.kind == FailureKind::Interrupted {
                terminal.stop(
                    &Stop::invalid(&failed.failure.message)
                        .help(format!("`stave runs resume {}` continues it", report.run_id)),
                );
                return;
            }
            if failed.failure.kind == FailureKind::Waiting {
                let node = failed.node.as_deref().unwrap_or("NODE");
                terminal.stop(&Stop::invalid(&failed.failure.message).help(format!(
                    "`stave runs approve {} {node}` approves it; with --deny it is denied",
                    report.run_id
                )));
                return;
            }
            let message = format!("{node}{}{}", failed.failure.message.trim_end(), place.unwrap_or_default());
            terminal.stop(
                &Stop::invalid(message).help(format!("`stave explain {}` says more", failed.failure.code)),
            );
        }
    }
    for node in report.nodes.iter().filter(|node| node.status == Status::Error) {
        if let (Some(failure), Ok(_)) = (&node.failure, &report.result) {
            terminal::error(&format!("note: `{}` failed and was handled: {}", node.id, failure.message));
        }
    }
}
