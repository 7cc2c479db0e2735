//! Which process works on a run: a lock file per process, which the system releases when it dies.
//!
//! A time limit alone could not do this: a killed process would seem alive until it ran out, and a slow one dead. A
//! lock file that somebody removed says nothing about its process. So a living process puts its file back within
//! moments, and others wait for that (`GRACE`) before they count a process without a file as dead. The file's time of
//! change says when its process was last seen alive.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use stave_canon::Timestamp;

use super::DatabaseError;

/// How often a process looks after its lock file.
const BEAT: Duration = Duration::from_millis(500);

/// How long a process without a lock file is given to put it back.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Whether the process that has a name is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    Alive,
    /// Its lock is free.
    Dead,
    /// It has no lock file: it is dead, or it is about to put the file back.
    Missing,
}

/// This process's name among the owners of runs, and its lock once it owns one.
#[derive(Debug)]
pub(crate) struct Lease {
    folder: PathBuf,
    owner: String,
    held: Mutex<Option<Beating>>,
}

/// The thread that holds the lock and looks after it until the sender goes.
#[derive(Debug)]
struct Beating {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lease {
    pub(super) fn new(folder: PathBuf, owner: &str) -> Lease {
        Lease { folder, owner: owner.to_owned(), held: Mutex::new(None) }
    }

    pub(crate) fn owner(&self) -> &str {
        &self.owner
    }

    /// Takes this process's lock, if it has not done so yet. It must be held before the process's name
    /// is written to a run.
    pub(crate) fn hold(&self) -> Result<(), DatabaseError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_some() {
            return Ok(());
        }
        let failed = |error: &dyn std::fmt::Display| DatabaseError::Lease(error.to_string());
        let path = self.path(&self.owner);
        let file = locked(&path).map_err(|error| failed(&error))?;
        let mut file = file;
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new().name("stave-lease".to_owned()).spawn(move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                beat(&mut file, &path);
            }
        });
        let thread = thread.map_err(|error| failed(&error))?;
        *held = Some(Beating { stop: Some(stop), thread: Some(thread) });
        Ok(())
    }

    /// Whether the process with this name is alive. This process counts as alive.
    pub(crate) fn liveness(&self, owner: &str) -> Liveness {
        if owner == self.owner {
            return Liveness::Alive;
        }
        // A lock needs no right to write, and the disk may be read-only.
        let path = self.path(owner);
        // Opening a pipe would wait for somebody who writes to it.
        if !path.is_file() {
            return Liveness::Missing;
        }
        let Ok(file) = OpenOptions::new().read(true).open(path) else { return Liveness::Missing };
        match file.try_lock_shared() {
            Ok(()) => Liveness::Dead,
            Err(TryLockError::WouldBlock) => Liveness::Alive,
            Err(TryLockError::Error(_)) => Liveness::Missing,
        }
    }

    /// When a process was last seen alive; `None` when its file is gone.
    pub(crate) fn last_seen(&self, owner: &str) -> Option<Timestamp> {
        let changed = std::fs::metadata(self.path(owner)).and_then(|file| file.modified()).ok()?;
        Timestamp::try_from(changed).ok()
    }

    /// Removes the file of a process that is dead and owns nothing any more. Nobody comes back under its name.
    pub(crate) fn forget(&self, owner: &str) {
        if self.liveness(owner) == Liveness::Dead {
            let _ = std::fs::remove_file(self.path(owner));
        }
    }

    /// Removes the files of dead processes, but for those that own runs in flight.
    pub(crate) fn sweep(&self, owners: &[String]) {
        for file in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = file.file_name();
            let owner = name.to_str().and_then(|name| name.strip_suffix(".lock"));
            if let Some(owner) = owner.filter(|owner| !owners.iter().any(|known| known == owner)) {
                self.forget(owner);
            }
        }
    }

    /// Ends the lease. The file stays when this process could not give all of its runs back, so that others see at
    /// once that it is dead.
    pub(super) fn end(&self, is_clean: bool) {
        let Some(mut beating) = self.held.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        beating.stop = None;
        if let Some(thread) = beating.thread.take() {
            let _ = thread.join();
        }
        if is_clean {
            let _ = std::fs::remove_file(self.path(&self.owner));
        }
    }

    fn path(&self, owner: &str) -> PathBuf {
        self.folder.join(format!("{owner}.lock"))
    }
}

/// A lock file that this process holds.
fn locked(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    // A file that is there and not locked would say that this process is dead.
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&new)?;
    file.try_lock().map_err(std::io::Error::from)?;
    std::fs::rename(&new, path)?;
    Ok(file)
}

/// Puts the file back if it is gone, and changes it to say that this process is alive.
fn beat(file: &mut File, path: &Path) {
    if !is_at(file, path) {
        // What cannot be done now is tried again at the next beat.
        match locked(path) {
            Ok(new) => *file = new,
            Err(_) => return,
        }
    }
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(b"."));
}

/// Whether an open file is still the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(there)) => open.ino() == there.ino() && open.dev() == there.dev(),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end(true);
    }
}
