//! `stave runs list`.

use stave_canon::{Timestamp, Value};
use stave_runtime::journal::{RunFilter, RunStatus, RunSummary};

use super::arguments::{List, Status};
use super::{Archive, stop};
use crate::exit::{Exit, Stop};
use crate::table;
use crate::terminal::{self, Terminal};

pub(super) async fn list(arguments: &List, terminal: Terminal) -> Result<Exit, Stop> {
    let after = arguments.cursor.as_deref().map(|cursor| {
        RunFilter::place_of(cursor)
            .ok_or_else(|| Stop::invalid("--cursor must be the `next` of an earlier page"))
    });
    let limit = (!arguments.all).then(|| usize::try_from(arguments.limit).unwrap_or(usize::MAX));
    let filter = RunFilter {
        flow: arguments.flow.clone(),
        status: arguments.status.map(RunStatus::from),
        // One more shows whether there is a further page.
        limit: limit.map(|limit| limit.saturating_add(1)),
        after: after.transpose()?,
        ..RunFilter::default()
    };
    let mut runs = match Archive::open_to_read(&arguments.place.runs())? {
        Some(archive) => archive.runs.list(filter).await.map_err(|error| stop(&error))?,
        None => Vec::new(),
    };
    let has_more = limit.is_some_and(|limit| runs.len() > limit);
    runs.truncate(limit.unwrap_or(usize::MAX));
    let next = runs.last().filter(|_| has_more).map(RunSummary::cursor);
    if arguments.place.json {
        let runs = runs.iter().map(summary_value).collect::<Vec<_>>();
        let members = [("runs", Value::Array(runs)), ("next", next.into())];
        terminal::out(&Value::from_iter(members).to_string());
    } else if runs.is_empty() {
        terminal::error("no runs");
    } else {
        terminal::out_styled(&table::runs(&runs, terminal.stdout));
        if let Some(next) = next {
            terminal::error(&format!(
                "there are more runs: --cursor {next} lists the next ones, --all lists all of them"
            ));
        }
    }
    Ok(Exit::Fine)
}

pub(super) fn summary_value(run: &RunSummary) -> Value {
    Value::from_iter([
        ("run_id", Value::from(run.id.as_str())),
        ("flow", run.flow.as_str().into()),
        ("status", run.status.word().into()),
        ("started_at", run.started_at.to_string().into()),
        ("ended_at", run.ended_at.map(|at: Timestamp| at.to_string()).into()),
        ("steps", run.steps.into()),
        ("replay_of", run.replay_of.clone().into()),
        ("crashes", run.crashes.into()),
    ])
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> RunStatus {
        match status {
            Status::Running => RunStatus::Running,
            Status::Interrupted => RunStatus::Interrupted,
            Status::Queued => RunStatus::Queued,
            Status::Quarantined => RunStatus::Quarantined,
            Status::Waiting => RunStatus::Waiting,
            Status::Ok => RunStatus::Ok,
            Status::Error => RunStatus::Error,
            Status::Cancelled => RunStatus::Cancelled,
        }
    }
}
