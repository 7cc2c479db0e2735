//! `stave runs delete`.
//!
//! Invariant: a run that a process drives stays. One that has not ended goes only with `--force`, since nobody can resume
//! it afterwards.

use stave_canon::Value;
use stave_runtime::journal::{JournalError, RunStatus, RunSummary};

use super::arguments::Delete;
use super::{Archive, Keeper, stop};
use crate::exit::{Exit, Stop};
use crate::terminal;

pub(super) async fn delete(arguments: &Delete) -> Result<Exit, Stop> {
    let archive = Archive::existing(&arguments.place.runs())?;
    let Keeper::Embedded { journal, .. } = &archive.keeper else {
        return Err(Stop::invalid("Restate takes runs away by itself")
            .help("`journal.keep_days` of stave.toml says how long after their end"));
    };
    // Nothing goes when one of the names is wrong.
    let mut runs: Vec<RunSummary> = Vec::new();
    for name in &arguments.runs {
        let run = archive.run(name).await?.summary;
        if let Some(error) = refusal(&run, arguments.force) {
            return Err(stop(&error));
        }
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    if !arguments.dry_run {
        for run in &runs {
            journal.delete(&run.id, arguments.force).await.map_err(|error| stop(&error))?;
        }
    }
    if arguments.place.json {
        let deleted: Vec<Value> = runs.iter().map(super::list::summary_value).collect();
        let value =
            Value::from_iter([("deleted", Value::from(deleted)), ("dry_run", arguments.dry_run.into())]);
        terminal::out(&value.to_string());
    } else {
        for run in &runs {
            let would = if arguments.dry_run { "would be" } else { "was" };
            terminal::error(&format!("run {} of `{}` ({}) {would} deleted", run.id, run.flow, run.status));
        }
    }
    Ok(Exit::Fine)
}

/// Why a run stays, as far as its status says.
fn refusal(run: &RunSummary, force: bool) -> Option<JournalError> {
    match run.status {
        RunStatus::Ok | RunStatus::Error | RunStatus::Cancelled => None,
        RunStatus::Running | RunStatus::Queued => Some(JournalError::Busy(run.id.clone())),
        _ if force => None,
        status => Some(JournalError::Unended { run: run.id.clone(), status }),
    }
}
