//! Where the runs and session state of each served project are kept.
//!
//! Invariant: a tenant never finds what another one has kept, whichever projects are served and in whatever order. A
//! named state folder belongs to the tenant that it was first served for, whose name it keeps: the tenant's first
//! project lives in the folder itself, every other project in a room of its own below it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::exit::Stop;
use crate::project::Project;
use crate::{state_folder, storage};

#[derive(Debug)]
pub(super) struct Rooms {
    /// The folder for all projects, when one is named.
    state_dir: Option<PathBuf>,
    /// The rooms that are taken, each with the root of its project.
    taken: BTreeMap<PathBuf, PathBuf>,
}

impl Rooms {
    pub(super) fn new(state_dir: Option<PathBuf>) -> Rooms {
        Rooms { state_dir, taken: BTreeMap::new() }
    }

    /// The room of a project, which is its own from now on.
    pub(super) fn take(&mut self, project: &Project) -> Result<PathBuf, Stop> {
        let room = match &self.state_dir {
            None => state_folder::path(project, None),
            Some(folder) => self.room(folder, project)?,
        };
        let taker = self.taken.entry(room.clone()).or_insert_with(|| project.root.clone());
        if *taker == project.root {
            return Ok(room);
        }
        let name = format!("{}/{}", project.tenant(), project.repo());
        Err(Stop::invalid(format!("two projects are both `{name}` and would share {}", room.display()))
            .help("give one of them another `[project] repo` in its stave.toml"))
    }

    fn room(&self, folder: &Path, project: &Project) -> Result<PathBuf, Stop> {
        let own = project.plain_names().iter().fold(folder.to_owned(), |room, name| room.join(name));
        let has_own = own.join(storage::DATABASE).is_file();
        let is_free = self.taken.get(folder).is_none_or(|taker| *taker == project.root);
        let is_first = !has_own && is_free && state_folder::claim(folder, project)?;
        let room = if is_first { folder.to_owned() } else { own };
        state_folder::claimed(project, Some(&room))
    }
}
