//! Files that only their owner may read: databases of runs and records, keys.
//!
//! SQLite gives the log and the index beside a database the mode of the database itself, so a database that is
//! private from its first moment on has no readable part.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

use crate::exit::Stop;
use crate::warnings;

/// Makes a database's file private before the database is opened. A link, a pipe or a device is refused, and a
/// looser mode is reported.
pub fn prepare_database(path: &Path) -> Result<(), Stop> {
    let fail = |error: std::io::Error| Stop::internal(format!("{} can't be made: {error}", path.display()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        // A database on a disk that can't be written to may still be read.
        Err(_) if path.is_file() => return Ok(()),
        Err(error) => return Err(fail(error)),
    }
    let metadata = std::fs::symlink_metadata(path).map_err(fail)?;
    if !metadata.is_file() {
        return Err(Stop::refused(format!("{} is not a regular file", path.display()))
            .help("move it away, or name another folder with --state-dir"));
    }
    report_looser_mode(path);
    report_open_folder(path);
    // The log and the index have the mode that the database had when they were made.
    for part in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(part);
        report_looser_mode(Path::new(&name));
    }
    Ok(())
}

/// Reports that a file with values of runs, records or keys can be read by somebody else than its owner.
pub(crate) fn report_looser_mode(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (file, above) = (mode(path), mode(folder));
    let is_open = |read: u32, enter: u32| file & read != 0 && above & enter != 0;
    let whom = if is_open(READ, ENTER) {
        "everybody"
    } else if is_open(READ << GROUP, ENTER << GROUP) {
        "its group"
    } else {
        return;
    };
    warnings::warn_once(&format!("{} can be read by {whom}; chmod 600 {}", path.display(), path.display()));
}

/// Reports that everybody can put another file in the place of a database.
fn report_open_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if mode(folder) & (WRITE | STICKY) == WRITE {
        let folder = folder.display();
        warnings::warn_once(&format!("the folder {folder} can be written by everybody; chmod 700 {folder}"));
    }
}

/// Lets every file that this process makes from now on be its owner's alone. For a process that writes nothing to share.
pub fn make_all_private() {
    #[cfg(unix)]
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
}

/// Checks the mode of a file with keys, as ssh does: one that others can write to is refused, and one that
/// others can read is reported. Containers mount such files readable, so reading alone is no reason to refuse.
pub fn check_keys_file(path: &Path) -> Result<(), Stop> {
    let mode = mode(path);
    if mode & WRITE != 0 {
        return Err(Stop::refused(format!("{} can be written by others", path.display()))
            .help(format!("chmod 600 {}", path.display())));
    }
    let whom = match (mode & READ != 0, mode & (READ << GROUP) != 0) {
        (true, _) => "others",
        (false, true) => "its group",
        (false, false) => return Ok(()),
    };
    warnings::warn_once(&format!(
        "the keys in {} can be read by {whom}; chmod 600 {}",
        path.display(),
        path.display()
    ));
    Ok(())
}

/// Whether this process may write a file, or make files in a folder.
#[cfg(unix)]
pub(crate) fn is_writable(path: &Path) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn is_writable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// Lets the owner, and nobody else, write a copy of a file that could not be written.
pub(crate) fn make_writable(path: &Path) -> std::io::Result<()> {
    let mut permissions = std::fs::metadata(path)?.permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions)
}

const READ: u32 = 0o004;
const WRITE: u32 = 0o002;
const ENTER: u32 = 0o001;
/// In such a folder everybody replaces only files of his own.
const STICKY: u32 = 0o1000;

/// How far the bits of the group are from those of everybody.
const GROUP: u32 = 3;

/// What everybody and the group may do with a file or a folder.
#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode() & (STICKY | 0o077))
}

#[cfg(not(unix))]
fn mode(_: &Path) -> u32 {
    0
}
