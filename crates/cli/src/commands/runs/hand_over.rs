//! `stave runs handover`: what the embedded journal has kept, for Restate to continue.

use std::sync::Arc;

use stave_canon::{Clock, Value};
use stave_runtime::journal::{
    Journal as _, JournalError, Pause, RunFilter, RunStatus, Runs as _, SqliteJournal,
};
use stave_runtime::state::{Commit, SqliteStore, StateError, Write};
use stave_scale::RestateEngine;

use super::arguments::HandOver;
use super::{Archive, Keeper, stop};
use crate::args::EngineKind;
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::{restate, terminal};

/// Whose writes the records are that were handed over.
const BY: &str = "handover";

/// Hands runs that have not ended to Restate, with what their sessions remember.
pub(super) async fn hand_over(arguments: &HandOver) -> Result<Exit, Stop> {
    let archive = Archive::open_embedded(&arguments.place.runs())?.ok_or_else(|| {
        Stop::invalid("no runs are kept here").help("--state-dir names the folder that keeps them")
    })?;
    let Keeper::Embedded { database, journal, .. } = &archive.keeper else {
        return Err(Stop::internal("the embedded journal is not there"));
    };
    let mut choice = arguments.place.engine.clone();
    choice.engine = Some(EngineKind::Restate);
    let client = restate::client(&choice.choice(), &archive.project)?
        .ok_or_else(|| Stop::invalid("runs are handed over to Restate, and it has no address"))?;
    let engine = restate::engine_of(&client, &archive.project);
    let ids = if arguments.all {
        let all = archive.runs.list(RunFilter::default()).await.map_err(|error| stop(&error))?;
        all.into_iter().filter(|run| !run.status.is_terminal()).map(|run| run.id).collect()
    } else {
        let mut ids = Vec::new();
        for id in &arguments.runs {
            ids.push(archive.run(id).await?.summary.id);
        }
        ids
    };
    let records = remembered(&SqliteStore::new(Arc::clone(database)), &engine).await?;
    let (mut handed_over, mut left) = (Vec::new(), Vec::new());
    for id in ids {
        match move_run(journal, &engine, &id).await {
            Ok(()) => handed_over.push(id),
            Err(error) => left.push((id, error.to_string())),
        }
    }
    if arguments.place.json {
        let left = left.iter().map(|(id, why)| (id.clone(), Value::from(why.as_str())));
        let answer = Value::from_iter([
            ("handed_over", Value::from(handed_over)),
            ("left", left.clone().collect()),
            ("records", records.into()),
        ]);
        terminal::out(&answer.to_string());
    } else {
        terminal::error(&format!("{} runs and {records} state records were handed over", handed_over.len()));
        for (id, why) in &left {
            terminal::error(&format!("{id} stays here: {why}"));
        }
    }
    Ok(if left.is_empty() { Exit::Fine } else { Exit::Failed })
}

/// Moves one run. Restate has it before the journal forgets it, and knows it when it is handed over again.
async fn move_run(journal: &SqliteJournal, engine: &RestateEngine, id: &str) -> Result<(), JournalError> {
    let is_waiting = journal.show(id).await?.summary.status == RunStatus::Waiting;
    let (stored, driver) = journal.claim(id, SystemClock.now()).await?;
    let idle = stored.idle.clone();
    match engine.adopt(stored).await {
        Ok(()) => {
            journal.forget(id).await?;
            driver.settle();
            Ok(())
        }
        Err(error) => {
            // The next resume finds it as it was.
            if is_waiting {
                let pause = Pause { idle: &idle, known: &[], at: SystemClock.now() };
                journal.suspend(id, pause).await?;
                driver.settle();
            }
            Err(error)
        }
    }
}

/// Hands over what sessions and runs remember, but for what Restate has already.
async fn remembered(store: &SqliteStore, engine: &RestateEngine) -> Result<usize, Stop> {
    let failed = |error: StateError| Stop::internal(error.to_string());
    let now = SystemClock.now();
    let (state, mut count) = (engine.state(), 0);
    for (key, record, expires_at) in store.records(now).await.map_err(failed)? {
        let writes = record.fields.into_iter().map(|(field, value)| Write::Set(field, value)).collect();
        let commit = Commit { key, writes, read: Some(0), by: BY.to_owned(), at: now, expires_at };
        match state.commit(commit).await {
            Ok(()) => count += 1,
            Err(StateError::Conflict) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(count)
}
