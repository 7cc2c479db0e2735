//! What the flows of a project remember, for commands that look at it or delete it.

use std::path::Path;

use stave_diag::Sources;
use stave_runtime::state::SqliteStore;
use tempfile::TempDir;

use crate::archive::ArchiveLocation;
use crate::exit::Stop;
use crate::project::{FILE, Project, StateBackend};
use crate::{restate, state_folder, storage};

/// The records in the project's own file.
#[derive(Debug)]
pub struct StateArchive {
    pub store: SqliteStore,
    /// The files that the database is read from, when they are copies.
    _copy: Option<TempDir>,
}

impl StateArchive {
    /// The records of the project that the current folder belongs to; `None` when nothing was ever kept there. Who only
    /// reads can do so where nothing can be written.
    pub fn open(place: &ArchiveLocation, reads: bool) -> Result<Option<StateArchive>, Stop> {
        let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
        let project = Project::of(Path::new(FILE), &mut sources, &mut diagnostics)?;
        if restate::client(&place.engine, &project)?.is_some() {
            return Err(Stop::invalid("Restate keeps the state of this project, which is not listed here"));
        }
        let backend = match project.settings.stores.state {
            Some(StateBackend::Redis) => Some("redis"),
            Some(StateBackend::Hopsworks) => Some("hopsworks"),
            _ => None,
        };
        if let Some(name) = backend {
            let message = format!("the state of this project is kept by `{name}`, which is not listed here");
            return Err(Stop::invalid(message).help("use the tools of that store"));
        }
        let folder = state_folder::readable(&project, place.state_dir.as_deref())?;
        if !folder.join(storage::DATABASE).is_file() {
            return Ok(None);
        }
        let (database, copy) =
            if reads { storage::database_to_read(&folder)? } else { (storage::database(&folder)?, None) };
        Ok(Some(StateArchive { store: SqliteStore::new(database), _copy: copy }))
    }
}
