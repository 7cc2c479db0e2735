//! Which process works on a run: a lock file per process, which the system releases when it dies.
//!
//! A time limit could not do this: a killed process would seem alive until it ran out, and a slow one dead.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::DatabaseError;

/// This process's name among the owners of runs, and its lock once it owns one.
#[derive(Debug)]
pub(crate) struct Lease {
    folder: PathBuf,
    owner: String,
    held: Mutex<Option<File>>,
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
        std::fs::create_dir_all(&self.folder).map_err(|error| failed(&error))?;
        let path = self.path(&self.owner);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| failed(&error))?;
        file.try_lock().map_err(|error| failed(&error))?;
        *held = Some(file);
        Ok(())
    }

    /// Whether the process with this name is alive. This process counts as alive.
    pub(crate) fn is_alive(&self, owner: &str) -> bool {
        if owner == self.owner {
            return true;
        }
        let Ok(file) = OpenOptions::new().write(true).open(self.path(owner)) else { return false };
        match file.try_lock() {
            Ok(()) => {
                // Nobody comes back under a dead process's name, so its file is litter.
                let _ = std::fs::remove_file(self.path(owner));
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn path(&self, owner: &str) -> PathBuf {
        self.folder.join(format!("{owner}.lock"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.held.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            let _ = std::fs::remove_file(self.path(&self.owner));
        }
    }
}
