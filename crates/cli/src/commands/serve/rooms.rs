//! Where the runs and session state of each served project are kept.
//!
//! Invariant: a tenant never finds what another one has kept, whichever projects are served and in whatever order. A
//! named state folder belongs to the tenant that it was first served for, whose name it keeps: the tenant's first
//! project lives in the folder itself, every other project in a room of its own below it.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use stave_canon::Value;

use crate::exit::Stop;
use crate::files;
use crate::project::Project;
use crate::storage;

/// The file that names the tenant of a state folder.
const OWNER: &str = "tenant.json";

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
            None => project.root.join(".stave"),
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
        let is_first = !has_own && is_free && belongs(folder, project.tenant())?;
        Ok(if is_first { folder.to_owned() } else { own })
    }
}

/// Whether a folder belongs to a tenant. One that belonged to nobody does from now on.
fn belongs(folder: &Path, tenant: &str) -> Result<bool, Stop> {
    let path = folder.join(OWNER);
    let failed = |error: std::io::Error| Stop::internal(format!("{}: {error}", path.display()));
    files::create_private_folder(folder).map_err(failed)?;
    match std::fs::File::create_new(&path) {
        Ok(mut file) => {
            let name = Value::from_iter([("tenant", tenant)]);
            file.write_all(format!("{name}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let kept = stave_canon::parse(&files::read_text(&path)?).ok();
            let kept = kept.as_ref().and_then(|kept| kept.get("tenant")).and_then(Value::as_str);
            let kept = kept.ok_or_else(|| {
                Stop::invalid(format!("{} names no tenant", path.display()))
                    .help("write {\"tenant\": \"NAME\"} into it, with the tenant that the folder belongs to")
            })?;
            Ok(kept == tenant)
        }
        Err(error) => Err(failed(error)),
    }
}
