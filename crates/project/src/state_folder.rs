//! Whose a state folder is.
//!
//! Invariant: a folder that was named belongs to the tenant that first kept something in it, and whose name it keeps.
//! A command for another tenant is refused before the database is opened, so that no run is shown to, driven for or
//! given the secrets of somebody else. The `.stave` folder of a project is its own and is not asked.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use stave_canon::{Object, Value};

use crate::exit::Stop;
use crate::files;
use crate::project::Project;

/// The file that names the owner of a state folder.
const OWNER: &str = "tenant.json";
/// The state folder of a project that none is named for.
const DEFAULT: &str = ".stave";

/// Where a project keeps its state: the folder that was named, or its own.
pub fn path(project: &Project, named: Option<&Path>) -> PathBuf {
    named.map_or_else(|| project.root.join(DEFAULT), Path::to_owned)
}

/// The same for a run: one that is kept claims the folder, an ephemeral one leaves nothing behind.
pub fn of_run(project: &Project, named: Option<&Path>, ephemeral: bool) -> Result<PathBuf, Stop> {
    if ephemeral { readable(project, named) } else { claimed(project, named) }
}

/// The same for those who write. A folder that belonged to nobody is the project's from now on.
pub fn claimed(project: &Project, named: Option<&Path>) -> Result<PathBuf, Stop> {
    if let Some(folder) = named
        && !claim(folder, project)?
    {
        return Err(foreign(folder, project));
    }
    Ok(path(project, named))
}

/// The same for those who only look: nothing is written.
pub fn readable(project: &Project, named: Option<&Path>) -> Result<PathBuf, Stop> {
    if let Some(folder) = named
        && folder.join(OWNER).is_file()
        && !is_owner(folder, project)?
    {
        return Err(foreign(folder, project));
    }
    Ok(path(project, named))
}

/// Whether a folder belongs to a project. One that belonged to nobody does from now on.
pub fn claim(folder: &Path, project: &Project) -> Result<bool, Stop> {
    let path = folder.join(OWNER);
    let failed = |error: std::io::Error| {
        Stop::internal(format!("{}: {error}", path.display()))
            .help("--state-dir names another folder, and --ephemeral keeps nothing of a run")
    };
    files::create_private_folder(folder).map_err(failed)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(&path) {
        Ok(mut file) => {
            let mut owner = Object::new();
            owner.insert("tenant".to_owned(), project.tenant().into());
            if let Some(repo) = &project.settings.repo {
                owner.insert("repo".to_owned(), repo.as_str().into());
            }
            let text = format!("{}\n", Value::Object(owner));
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => is_owner(folder, project),
        Err(error) => Err(failed(error)),
    }
}

/// Whether the owner that a folder names is the project's. A repository counts when both sides name one: without a
/// name it is called after its folder, which may be another one after each deployment.
fn is_owner(folder: &Path, project: &Project) -> Result<bool, Stop> {
    let path = folder.join(OWNER);
    let owner = stave_canon::parse(&files::read_text(&path)?).ok();
    let word = |key: &str| owner.as_ref().and_then(|owner| owner.get(key)).and_then(Value::as_str);
    let tenant = word("tenant").ok_or_else(|| {
        Stop::invalid(format!("{} names no tenant", path.display()))
            .help("write {\"tenant\": \"NAME\"} into it, with the tenant that the folder belongs to")
    })?;
    let repos = word("repo").zip(project.settings.repo.as_deref());
    Ok(tenant == project.tenant() && repos.is_none_or(|(kept, own)| kept == own))
}

fn foreign(folder: &Path, project: &Project) -> Stop {
    let (folder, tenant) = (folder.display(), project.tenant());
    Stop::refused(format!("{folder} does not belong to the project `{tenant}/{}`", project.repo())).help(format!(
        "start the command in the folder of the project that {folder}/{OWNER} names, or name another --state-dir"
    ))
}
