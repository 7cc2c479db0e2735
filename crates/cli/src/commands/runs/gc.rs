//! `stave runs gc`.
//!
//! Invariant: runs that have not ended stay. With `--dry-run` nothing is removed and no space is given back.

use std::time::Duration;

use stave_canon::{Clock, Value};
use stave_runtime::journal::{RunRetention, RunSummary, SqliteJournal};

use super::arguments::Gc;
use super::{Archive, Keeper, stop};
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::{planner_files, terminal};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The days that ended runs are kept when neither the call nor the project says how long.
const OLDER_THAN: u32 = 30;

/// What `runs gc` did, or would do.
#[derive(Debug, Default)]
struct GcReport {
    /// The ids of the runs, the oldest first.
    removed: Vec<String>,
    documents: usize,
    /// The files of cache planners that learned nothing for a week.
    planner_files: usize,
    bytes_before: u64,
    bytes_after: u64,
    lost_commits: u64,
}

pub(super) async fn gc(arguments: &Gc) -> Result<Exit, Stop> {
    let Some(archive) = Archive::open(&arguments.place.runs())? else {
        if arguments.dry_run {
            print_preview(arguments, &[], None, 0);
        } else {
            print_report(arguments, &GcReport::default());
        }
        return Ok(Exit::Fine);
    };
    let Keeper::Embedded { journal, database, .. } = &archive.keeper else {
        return Err(Stop::invalid("Restate removes ended runs by itself")
            .help("`journal.keep_days` of stave.toml says how long after their end"));
    };
    let retention = retention(&archive, arguments);
    let now = SystemClock.now().as_millisecond() as f64 / 1000.0;
    let planner_files =
        database.folder().map(|folder| planner_files::expired(folder, now)).unwrap_or_default();
    if arguments.dry_run {
        let runs = journal.too_old(retention, SystemClock.now()).await.map_err(|error| stop(&error))?;
        print_preview(arguments, &runs, bytes_over(journal, retention).await?, planner_files.len());
        return Ok(Exit::Fine);
    }
    let bytes_before = journal.file_bytes().await.map_err(|error| stop(&error))?;
    let removed = journal.retain(retention, SystemClock.now()).await.map_err(|error| stop(&error))?;
    journal.shrink().await.map_err(|error| stop(&error))?;
    let bytes_after = journal.file_bytes().await.map_err(|error| stop(&error))?;
    let lost_commits = database.lost_commits();
    if arguments.accept_loss {
        database.accept_loss().await.map_err(|error| stop(&error.into()))?;
    }
    let planner_files = planner_files::remove(planner_files).len();
    let (documents, removed) = (removed.documents, removed.runs);
    let report = GcReport { removed, documents, planner_files, bytes_before, bytes_after, lost_commits };
    print_report(arguments, &report);
    Ok(Exit::Fine)
}

fn retention(archive: &Archive, arguments: &Gc) -> RunRetention {
    let settings = &archive.project.settings.journal;
    let days = arguments.older_than.or(settings.keep_days.and_then(|days| u32::try_from(days).ok()));
    let keep = settings.keep_runs.and_then(|runs| usize::try_from(runs).ok());
    RunRetention {
        older_than: Some(DAY.saturating_mul(days.unwrap_or(OLDER_THAN))),
        keep: arguments.keep.or(keep).unwrap_or(0),
        max_bytes: settings.max_bytes,
    }
}

/// By how many bytes the database exceeds `journal.max_bytes`.
async fn bytes_over(journal: &SqliteJournal, retention: RunRetention) -> Result<Option<u64>, Stop> {
    let Some(most) = retention.max_bytes else { return Ok(None) };
    let bytes = journal.bytes().await.map_err(|error| stop(&error))?;
    Ok(bytes.checked_sub(most).filter(|over| *over > 0))
}

fn print_preview(arguments: &Gc, runs: &[RunSummary], bytes_over: Option<u64>, planner_files: usize) {
    if arguments.place.json {
        let ids: Vec<Value> = runs.iter().map(|run| run.id.as_str().into()).collect();
        let value = Value::from_iter([
            ("dry_run", Value::from(true)),
            ("runs", runs.len().into()),
            ("removed", ids.into()),
            ("planner_files", planner_files.into()),
            ("bytes_over_limit", bytes_over.map_or(Value::Null, Value::from)),
        ]);
        terminal::out(&value.to_string());
        return;
    }
    for run in runs {
        terminal::error(&format!("run {} of `{}` ({}) would be removed", run.id, run.flow, run.status));
    }
    terminal::error(&format!("{} runs would be removed because of their age", runs.len()));
    if planner_files > 0 {
        terminal::error(&format!("{planner_files} files of cache planners would be removed"));
    }
    if let Some(over) = bytes_over {
        terminal::error(&format!(
            "the database exceeds `journal.max_bytes` by {over} bytes: after these, the oldest ended runs would go until it fits"
        ));
    }
}

fn print_report(arguments: &Gc, report: &GcReport) {
    let (runs, documents) = (report.removed.len(), report.documents);
    let (before, after) = (report.bytes_before, report.bytes_after);
    if arguments.place.json {
        let ids: Vec<Value> = report.removed.iter().map(|id| id.as_str().into()).collect();
        let value = Value::from_iter([
            ("runs", Value::from(runs)),
            ("removed", ids.into()),
            ("documents", documents.into()),
            ("planner_files", report.planner_files.into()),
            ("bytes_before", before.into()),
            ("bytes_after", after.into()),
            ("lost_commits", report.lost_commits.into()),
        ]);
        terminal::out(&value.to_string());
        return;
    }
    for id in &report.removed {
        terminal::error(&format!("run {id} was removed"));
    }
    if report.planner_files > 0 {
        let files = report.planner_files;
        terminal::error(&format!(
            "{files} files of cache planners that learned nothing for a week were removed"
        ));
    }
    terminal::error(&format!(
        "{runs} runs and {documents} documents were removed; the database has {after} bytes, {before} before"
    ));
}
