//! `[journal]` of the projects that are served: ended runs are removed at the start and from then on.
//!
//! Invariants: runs that have not ended stay. A batch is small and is followed by a pause, so that the steps of runs in
//! progress are written in between. A project whose journal cannot be written is passed over until the next time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_canon::{Clock, Value};
use stave_runtime::journal::{JournalError, Removed, RunRetention, SqliteJournal};

use super::engines::ProjectEngines;
use super::flows::Flows;
use super::log::Log;
use crate::args::LogLevel;
use crate::ports::SystemClock;
use crate::storage;

/// How often runs are removed.
const EVERY: Duration = Duration::from_secs(60);

/// How many runs are removed in one transaction, and how long others can write before the next one.
const BATCH: usize = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// Removes what the projects do not keep, for as long as the process lives.
pub(super) fn start(flows: Arc<Mutex<Flows>>, log: Log) {
    tokio::spawn(async move {
        loop {
            let projects: Vec<Arc<ProjectEngines>> = {
                let flows = flows.lock().unwrap_or_else(PoisonError::into_inner);
                flows.engines.values().cloned().collect()
            };
            for engines in projects {
                apply(&engines, &log).await;
            }
            tokio::time::sleep(EVERY).await;
        }
    });
}

async fn apply(engines: &ProjectEngines, log: &Log) {
    let applied = engines.applied();
    let project = &applied.project;
    // Restate removes its runs by itself.
    let Some(retention) = project.settings.journal.retention().filter(|_| !engines.is_elsewhere()) else {
        return;
    };
    let name = format!("{}/{}", project.tenant(), project.repo());
    let journal = storage::journal(project, &engines.database);
    let (removed, outcome) = remove(&journal, retention).await;
    if !removed.runs.is_empty() {
        let (runs, documents) = (removed.runs.len(), removed.documents);
        let message = format!("removed {runs} ended runs and {documents} documents of {name}");
        let members =
            [("project", Value::from(name.as_str())), ("runs", runs.into()), ("documents", documents.into())];
        log.write(LogLevel::Info, "retention", &message, &members);
    }
    if let Err(error) = outcome {
        log.warn("retention-failed", &format!("ended runs of {name} cannot be removed: {error}"));
    }
}

/// What was removed, also when a later batch failed.
async fn remove(journal: &SqliteJournal, retention: RunRetention) -> (Removed, Result<(), JournalError>) {
    let mut removed = Removed::default();
    loop {
        match journal.retain_batch(retention, SystemClock.now(), BATCH).await {
            Ok(part) if part.runs.is_empty() => return (removed, Ok(())),
            Ok(part) => removed += part,
            Err(error) => return (removed, Err(error)),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
