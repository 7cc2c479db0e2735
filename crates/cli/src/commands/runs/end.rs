//! `stave runs cancel`.

use stave_canon::{Clock, Value};
use stave_runtime::journal::RunStatus;

use super::arguments::Cancel;
use super::{Archive, stop};
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::terminal;

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
