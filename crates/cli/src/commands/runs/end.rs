//! `stave runs cancel` and `stave runs gc`.

use std::time::Duration;

use stave_canon::{Clock, Value};
use stave_runtime::journal::{Removed, RunRetention, RunStatus};

use super::arguments::{Cancel, Gc};
use super::{Archive, Keeper, stop};
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::terminal;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The days that ended runs are kept when neither the call nor the project says how long.
const OLDER_THAN: u32 = 30;

pub(super) async fn cancel(arguments: &Cancel) -> Result<Exit, Stop> {
    let archive = Archive::existing(&arguments.place.runs())?;
    let run = archive.run(&arguments.run).await?.summary.id;
    let status = archive.runs.cancel(&run, SystemClock.now()).await.map_err(|error| stop(&error))?;
    if arguments.place.json {
        let value = Value::from_iter([
            ("run_id", Value::from(run.as_str())),
            ("status", status.word().into()),
            ("cancel_requested", (!status.is_terminal()).into()),
        ]);
        terminal::out(&value.to_string());
    } else if status == RunStatus::Running {
        terminal::error(&format!("run {run} was asked to end, and does when its step in progress is done"));
    } else {
        terminal::error(&format!("run {run} is cancelled"));
    }
    Ok(Exit::Fine)
}

pub(super) async fn gc(arguments: &Gc) -> Result<Exit, Stop> {
    let mut removed = Removed::default();
    let (mut before, mut after, mut lost) = (0, 0, 0);
    if let Some(archive) = Archive::open(&arguments.place.runs())? {
        let Keeper::Embedded { journal, database, .. } = &archive.keeper else {
            return Err(Stop::invalid("Restate takes runs away by itself")
                .help("`journal.keep_days` of stave.toml says how long after their end"));
        };
        let settings = &archive.project.settings.journal;
        let days = arguments.older_than.or(settings.keep_days.and_then(|days| u32::try_from(days).ok()));
        let keep = settings.keep_runs.and_then(|runs| usize::try_from(runs).ok());
        let retention = RunRetention {
            older_than: Some(DAY.saturating_mul(days.unwrap_or(OLDER_THAN))),
            keep: arguments.keep.or(keep).unwrap_or(0),
            max_bytes: settings.max_bytes,
        };
        before = journal.file_bytes().await.map_err(|error| stop(&error))?;
        removed = journal.retain(retention, SystemClock.now()).await.map_err(|error| stop(&error))?;
        journal.shrink().await.map_err(|error| stop(&error))?;
        after = journal.file_bytes().await.map_err(|error| stop(&error))?;
        lost = database.lost_commits();
        if arguments.accept_loss {
            database.accept_loss().await.map_err(|error| stop(&error.into()))?;
        }
    }
    if arguments.place.json {
        let value = Value::from_iter([
            ("runs", Value::from(removed.runs)),
            ("documents", removed.documents.into()),
            ("bytes_before", before.into()),
            ("bytes_after", after.into()),
            ("lost_commits", lost.into()),
        ]);
        terminal::out(&value.to_string());
    } else {
        terminal::error(&format!(
            "{} runs and {} documents were removed; the database has {after} bytes, {before} before",
            removed.runs, removed.documents
        ));
    }
    Ok(Exit::Fine)
}
