//! The runs that a project kept: in its own file, or at Restate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_diag::Sources;
use stave_gateway::database;
use stave_runtime::database::Database;
use stave_runtime::journal::{JournalError, Runs, SqliteJournal, StoredRun};
use tempfile::TempDir;

use crate::exit::Stop;
use crate::project::{EngineChoice, FILE, Project};
use crate::restate::{self, RestateClient};
use crate::{state_folder, storage};

/// Where runs are looked for, over what the project of the current folder says.
#[derive(Debug, Clone, Default)]
pub struct ArchiveLocation {
    /// `.stave` in the project's folder when absent.
    pub state_dir: Option<PathBuf>,
    pub engine: EngineChoice,
}

/// The project and its runs.
#[derive(Debug)]
pub struct Archive {
    pub project: Project,
    pub runs: Arc<dyn Runs>,
    pub keeper: Keeper,
}

/// Who keeps the runs.
#[derive(Debug)]
pub enum Keeper {
    Embedded {
        database: Arc<Database>,
        journal: SqliteJournal,
        /// The files that the database is read from, when they are copies.
        _copy: Option<TempDir>,
    },
    Restate(Arc<RestateClient>),
}

impl Archive {
    /// Opens the runs of the project that the current folder belongs to; `None` when nothing was ever kept
    /// there.
    pub fn open(place: &ArchiveLocation) -> Result<Option<Archive>, Stop> {
        Archive::open_as(place, false)
    }

    /// The same for commands that change nothing, also where nothing can be written.
    pub fn open_to_read(place: &ArchiveLocation) -> Result<Option<Archive>, Stop> {
        Archive::open_as(place, true)
    }

    fn open_as(place: &ArchiveLocation, reads: bool) -> Result<Option<Archive>, Stop> {
        let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
        let project = Project::of(Path::new(FILE), &mut sources, &mut diagnostics)?;
        if let Some(client) = restate::client(&place.engine, &project)? {
            let runs = restate::runs(&client, &project);
            return Ok(Some(Archive { project, runs, keeper: Keeper::Restate(client) }));
        }
        Archive::embedded(project, place, reads)
    }

    /// The same for the runs that the project's own file keeps, whichever engine the project has.
    pub fn open_embedded(place: &ArchiveLocation) -> Result<Option<Archive>, Stop> {
        let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
        let project = Project::of(Path::new(FILE), &mut sources, &mut diagnostics)?;
        Archive::embedded(project, place, false)
    }

    fn embedded(project: Project, place: &ArchiveLocation, reads: bool) -> Result<Option<Archive>, Stop> {
        let folder = state_folder::readable(&project, place.state_dir.as_deref())?;
        let file = folder.join(storage::DATABASE);
        if !file.is_file() {
            // A pipe or a folder of that name is no place without runs.
            return match file.symlink_metadata() {
                Err(_) => Ok(None),
                Ok(_) => Err(Stop::refused(format!("{} is not a regular file", file.display()))
                    .help("move it away; runs are kept in a database of that name")),
            };
        }
        let (database, copy) =
            if reads { storage::database_to_read(&folder)? } else { (storage::database(&folder)?, None) };
        let journal = storage::journal(&project, &database);
        let runs = Arc::new(journal.clone());
        let keeper = Keeper::Embedded { database, journal, _copy: copy };
        Ok(Some(Archive { project, runs, keeper }))
    }

    /// The same, when there is no answer without it.
    pub fn existing(place: &ArchiveLocation) -> Result<Archive, Stop> {
        Archive::open(place)?.ok_or_else(nothing_kept)
    }

    /// The same for commands that change nothing.
    pub fn existing_to_read(place: &ArchiveLocation) -> Result<Archive, Stop> {
        Archive::open_to_read(place)?.ok_or_else(nothing_kept)
    }

    /// A run by its id or the beginning of it.
    pub async fn run(&self, id: &str) -> Result<StoredRun, Stop> {
        let id = self.runs.find(id).await.map_err(|error| stop(&error))?;
        self.runs.show(&id).await.map_err(|error| stop(&error))
    }
}

fn nothing_kept() -> Stop {
    Stop::invalid("no runs are kept here").help("--state-dir names the folder that keeps them")
}

/// Nothing was begun, because the request of a run is larger than the project keeps.
fn too_large(error: &JournalError) -> Stop {
    Stop::invalid(error.to_string()).help(
        "send less, raise `record_bytes` in `[journal]` of stave.toml, or keep nothing of the run: --ephemeral",
    )
}

/// Why something cannot be done with a run.
pub fn stop(error: &JournalError) -> Stop {
    let message = error.to_string();
    match error {
        JournalError::UnknownRun(_) => Stop::invalid(message).help("`stave runs list` shows the runs"),
        JournalError::Ambiguous { .. } => Stop::invalid(message).help("give more of the id"),
        JournalError::Unended { run, .. } => {
            Stop::invalid(message).help(format!("`stave runs delete {run} --force` deletes it all the same"))
        }
        JournalError::Ended { run, .. } => {
            Stop::invalid(message).help(format!("`stave runs replay {run}` runs it again under a new id"))
        }
        JournalError::AuthNeeded(_) => Stop::invalid(message).help("--auth FILE gives it again"),
        JournalError::AuthDiffers(run) => Stop::refused(message).help(format!(
            "give the `auth` of the request, or cancel the run and replay it: `stave runs cancel {run}`"
        )),
        JournalError::Busy(run) => {
            Stop::invalid(message).help(format!("`stave runs cancel {run}` asks that process to end it"))
        }
        JournalError::Lost(run) => {
            Stop::invalid(message).help(format!("`stave runs show {run}` shows its status"))
        }
        JournalError::Exists(_) | JournalError::Started(_) => Stop::invalid(message),
        JournalError::Quarantined(run) => {
            Stop::refused(message).help(format!("`stave runs resume {run} --force` resumes it anyway"))
        }
        JournalError::AuthRefused(_) => {
            Stop::refused(message).help("the embedded engine runs it, and keeps nothing of `auth`")
        }
        JournalError::NotAsked { .. }
        | JournalError::NoSuchNode { .. }
        | JournalError::DecisionUsed { .. } => Stop::invalid(message),
        JournalError::QuestionChanged { run, .. } => {
            Stop::invalid(message).help(format!("`stave runs show {run}` shows the question and its digest"))
        }
        JournalError::RequestTooLarge { .. } => too_large(error),
        JournalError::TooLarge { .. }
        | JournalError::StateConflict
        | JournalError::Damaged(_)
        | JournalError::Unreachable(_)
        | JournalError::Database(_) => Stop::internal(message),
    }
}

/// What happened could not be written down. Nothing was done that is not in the journal, except the steps
/// that were under way.
pub fn unwritten(run_id: &str, error: &JournalError) -> Stop {
    if matches!(error, JournalError::RequestTooLarge { .. }) {
        return too_large(error);
    }
    Stop::internal(format!("run {run_id}: {error}"))
        .help(format!("`stave runs resume {run_id}` continues it"))
}

/// The file with the gateway's records and keys, and the project that it belongs to.
pub fn gateway_records(state_dir: Option<&Path>) -> Result<(PathBuf, Project), Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let project = Project::of(Path::new(FILE), &mut sources, &mut diagnostics)?;
    // A gateway serves several tenants, so its folder is the operator's.
    let folder = state_folder::path(&project, state_dir);
    Ok((folder.join(database::FILE), project))
}
