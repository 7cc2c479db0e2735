//! `stave runs`: what the journal knows of runs, and what can be done with them.

mod arguments;
mod end;
mod go_on;
mod list;
mod report;
mod show;

use std::path::Path;
use std::sync::Arc;

use stave_diag::Sources;
use stave_runtime::database::Database;
use stave_runtime::journal::{JournalError, SqliteJournal, StoredRun};

pub(crate) use arguments::{Place, Runs};

use self::arguments::RunsCommand;
use crate::exit::{Exit, Stop};
use crate::project::{self, Project};
use crate::storage;
use crate::terminal::Terminal;

pub(crate) fn runs(arguments: &Runs, terminal: Terminal) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime can not be started: {error}")))?;
    runtime.block_on(async {
        match &arguments.command {
            RunsCommand::List(list) => list::list(list, terminal).await,
            RunsCommand::Show(show) => show::show(show, terminal).await,
            RunsCommand::Report(report) => report::report(report).await,
            RunsCommand::Resume(resume) => go_on::resume(resume, terminal).await,
            RunsCommand::Replay(replay) => go_on::replay(replay, terminal).await,
            RunsCommand::Approve(approve) => go_on::approve(approve, terminal).await,
            RunsCommand::Cancel(cancel) => end::cancel(cancel).await,
            RunsCommand::Gc(gc) => end::gc(gc).await,
        }
    })
}

/// The project and its database.
pub(in crate::commands) struct Archive {
    pub(super) project: Project,
    pub(super) database: Arc<Database>,
    pub(super) journal: SqliteJournal,
}

impl Archive {
    /// Opens the database of the project that the current folder belongs to; `None` when nothing was ever
    /// kept there.
    pub(super) fn open(place: &Place) -> Result<Option<Archive>, Stop> {
        let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
        let project = Project::of(Path::new(project::FILE), &mut sources, &mut diagnostics)?;
        let folder = place.state_dir.clone().unwrap_or_else(|| project.root.join(".stave"));
        if !folder.join(storage::DATABASE).is_file() {
            return Ok(None);
        }
        let database = storage::database(&folder)?;
        let journal = storage::journal(&project, &database);
        Ok(Some(Archive { project, database, journal }))
    }

    /// The same, when there is no answer without it.
    pub(super) fn existing(place: &Place) -> Result<Archive, Stop> {
        Archive::open(place)?.ok_or_else(|| {
            Stop::invalid("no runs are kept here").help("--state-dir names the folder that keeps them")
        })
    }

    /// A run by its id or the beginning of it.
    pub(super) async fn run(&self, id: &str) -> Result<StoredRun, Stop> {
        let id = self.journal.find(id).await.map_err(|error| stop(&error))?;
        self.journal.show(&id).await.map_err(|error| stop(&error))
    }
}

/// Why something can not be done with a run.
pub(super) fn stop(error: &JournalError) -> Stop {
    let message = error.to_string();
    match error {
        JournalError::UnknownRun(_) => Stop::invalid(message).help("`stave runs list` shows the runs"),
        JournalError::Ended { run, .. } => {
            Stop::invalid(message).help(format!("`stave runs replay {run}` runs it again under a new id"))
        }
        JournalError::AuthNeeded(_) => Stop::invalid(message).help("--auth FILE gives it again"),
        JournalError::Busy(run) => {
            Stop::invalid(message).help(format!("`stave runs cancel {run}` asks that process to end it"))
        }
        JournalError::NoSuchNode { .. } => Stop::invalid(message),
        JournalError::TooLarge { .. }
        | JournalError::StateConflict
        | JournalError::Damaged(_)
        | JournalError::Database(_) => Stop::internal(message),
    }
}
