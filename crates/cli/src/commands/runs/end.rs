//! `stave runs cancel` and `stave runs gc`.

use std::time::Duration;

use stave_canon::{Clock, Value};
use stave_runtime::journal::{Removed, RunStatus};

use super::arguments::{Cancel, Gc};
use super::{Archive, stop};
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::terminal;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How many runs are taken away in one transaction, so that others can write in between.
const AT_ONCE: usize = 200;

pub(super) async fn cancel(arguments: &Cancel) -> Result<Exit, Stop> {
    let archive = Archive::existing(&arguments.place)?;
    let run = archive.run(&arguments.run).await?.summary.id;
    let status = archive.journal.cancel(&run, SystemClock.now()).await.map_err(|error| stop(&error))?;
    if arguments.place.json {
        let value = Value::from_iter([("run_id", run.as_str()), ("status", status.word())]);
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
    if let Some(archive) = Archive::open(&arguments.place)? {
        let age = DAY.saturating_mul(arguments.older_than);
        let before = SystemClock.now().checked_sub(age);
        let before = before.map_err(|_| Stop::invalid("--older-than reaches before all time"))?;
        loop {
            let part = archive.journal.remove(before, arguments.keep, AT_ONCE).await;
            let part = part.map_err(|error| stop(&error))?;
            removed.runs += part.runs;
            removed.documents += part.documents;
            if part.runs < AT_ONCE {
                break;
            }
        }
    }
    if arguments.place.json {
        let value = Value::from_iter([("runs", removed.runs), ("documents", removed.documents)]);
        terminal::out(&value.to_string());
    } else {
        terminal::error(&format!(
            "{} runs and {} documents were taken away",
            removed.runs, removed.documents
        ));
    }
    Ok(Exit::Fine)
}
