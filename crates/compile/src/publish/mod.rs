//! Putting a compiled tree in the place of the one that is there, all of it or nothing.
//!
//! The new tree is built beside the output folder, out of new files and links to the unchanged ones, made
//! durable, and then exchanged with the output folder in one step of the file system. A process that dies
//! at any moment leaves the old tree or the new one, and what it left beside them is taken away by the
//! next compile.
//!
//! Where the exchange is not possible (files of others in the output folder, the folder is the current
//! one, the file system does not know how), files are renamed into place one by one: first what goes is
//! removed, then the manifest, then the rest. Even then no file is ever half-written and no exec document
//! is there that the manifest does not name.
//!
//! Invariant: only files that `stave compile` wrote are removed or overwritten (see [`inventory`]), and
//! nothing is written through a link.

mod changes;
mod disk;
mod file_system;
mod inventory;
#[cfg(test)]
mod memory;
mod record;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use super::emit::Tree;

use changes::{Change, Changes};
pub(crate) use disk::Disk;
pub(crate) use file_system::{EntryKind, FileSystem};
pub(crate) use inventory::{Inventory, Owner, foreign_in_cache};
pub(crate) use record::Record;

/// The folder below the output folder that holds what is not part of the public contract.
pub(crate) const CACHE: &str = ".ir-cache";
/// The files and folders below the cache folder, besides the record.
pub(crate) const PACK: &str = "pack";
pub(crate) const NEXT_PACK: &str = "pack.next";
const STAGING: &str = "staging";
const MANIFEST: &str = "manifest.json";

/// Why nothing was published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PublishError {
    /// A file, a link or a folder that `stave compile` did not write is where it would write or remove.
    #[error("{0} was not written by `stave compile`, or was changed since")]
    Foreign(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl PublishError {
    pub(crate) fn foreign(out: &Path, path: &str) -> PublishError {
        PublishError::Foreign(out.join(path).display().to_string())
    }
}

/// The result of publishing.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Published {
    pub written: Vec<String>,
    pub removed: Vec<String>,
    pub unchanged: usize,
}

/// What is to be published, and where.
#[derive(Debug)]
pub(crate) struct Publication<'p> {
    /// The output folder, absolute and without symbolic links.
    pub(crate) out: &'p Path,
    pub(crate) tree: &'p Tree,
    pub(crate) owner: Owner<'p>,
    /// Whether everything else that was written here goes too. A folder that holds files of others is refused.
    pub(crate) wipe: bool,
    /// Whether the output folder itself may be replaced: not when it is the current folder.
    pub(crate) may_exchange: bool,
}

impl Publication<'_> {
    /// Publishes. The caller holds the lock of the output folder.
    pub(crate) fn publish(&self, files: &dyn FileSystem) -> Result<Published, PublishError> {
        if let Some(path) = foreign_in_cache(self.out, files)? {
            return Err(PublishError::foreign(self.out, &path));
        }
        self.take_away_leftovers(files)?;
        let changes = Changes::between(self, files)?;
        match changes.list.as_slice() {
            [] if changes.before == changes.after && !self.wipe => {}
            [] | [_] => self.apply_in_order(files, &changes)?,
            _ => {
                let exchanged =
                    self.may_exchange && !changes.has_foreign_files && self.exchange(files, &changes)?;
                if !exchanged {
                    self.apply_in_order(files, &changes)?;
                }
            }
        }
        Ok(changes.published())
    }

    /// Builds the new tree beside the output folder and puts it in its place. `false` when the file system
    /// cannot do that; nothing has changed then.
    fn exchange(&self, files: &dyn FileSystem, changes: &Changes<'_>) -> io::Result<bool> {
        let staging = self.staging();
        let written = match self.build(files, changes, &staging) {
            Ok(written) => written,
            Err(error) if is_unsupported(&error) => {
                self.remove_staging(files)?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        files.synchronise(&staging, &written)?;
        if !files.is_folder(self.out)? {
            files.rename(&staging, self.out)?;
            files.synchronise_folder(self.parent())?;
            return Ok(true);
        }
        match files.exchange(&staging, self.out) {
            Ok(()) => {}
            Err(error) if is_unsupported(&error) => {
                self.remove_staging(files)?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        files.synchronise_folder(self.parent())?;
        // The new tree is in place. What follows keeps the results of earlier compiles and takes the old tree away.
        let pack = staging.join(CACHE).join(PACK);
        if !self.wipe && files.kind(&pack)? == EntryKind::File {
            files.rename(&pack, &self.out.join(CACHE).join(PACK))?;
        }
        self.remove_staging(files)?;
        Ok(true)
    }

    fn build(
        &self,
        files: &dyn FileSystem,
        changes: &Changes<'_>,
        staging: &Path,
    ) -> io::Result<Vec<PathBuf>> {
        files.create_folders(staging)?;
        for path in &changes.kept {
            let target = staging.join(path);
            files.create_folders(folder_of(&target))?;
            files.link(&self.out.join(path), &target)?;
        }
        let record = staging.join(CACHE).join(record::FILE);
        files.create_folders(folder_of(&record))?;
        files.write(&record, &changes.after.to_bytes())?;
        let mut written = vec![record];
        for change in &changes.list {
            if let Change::Write { path, bytes } = change {
                let target = staging.join(path);
                files.create_folders(folder_of(&target))?;
                files.write(&target, bytes)?;
                written.push(target);
            }
        }
        Ok(written)
    }

    /// Renames files into place one by one, in the order that keeps the manifest's promise.
    fn apply_in_order(&self, files: &dyn FileSystem, changes: &Changes<'_>) -> io::Result<()> {
        let staging = self.out.join(CACHE).join(STAGING);
        files.create_folders(&staging)?;
        let write_record = |number: usize, record: &Record| {
            let temporary = staging.join(number.to_string());
            files.write(&temporary, &record.to_bytes())?;
            files.synchronise(&staging, std::slice::from_ref(&temporary))?;
            files.rename(&temporary, &self.out.join(CACHE).join(record::FILE))
        };
        let list = &changes.list;
        write_record(list.len(), &changes.before.union(&changes.after))?;
        let mut ready = Vec::new();
        for (index, change) in list.iter().enumerate() {
            if let Change::Write { path, bytes } = change {
                let temporary = staging.join(index.to_string());
                files.write(&temporary, bytes)?;
                ready.push((*path, temporary));
            }
        }
        let written: Vec<PathBuf> = ready.iter().map(|(_, temporary)| temporary.clone()).collect();
        files.synchronise(&staging, &written)?;
        for change in list {
            if let Change::Remove { path } = change {
                files.remove_file(&self.out.join(path))?;
            }
        }
        ready.sort_by_key(|(path, _)| *path != MANIFEST);
        for (path, temporary) in ready {
            let target = self.out.join(path);
            files.create_folders(folder_of(&target))?;
            files.rename(&temporary, &target)?;
        }
        if changes.before.union(&changes.after) != changes.after {
            write_record(list.len() + 1, &changes.after)?;
        }
        let pack = self.out.join(CACHE).join(PACK);
        if self.wipe && files.kind(&pack)? == EntryKind::File {
            files.remove_file(&pack)?;
        }
        files.remove_tree(&staging)?;
        files.synchronise_folder(self.out)
    }

    /// What a process that died left behind. Nobody else works here: the lock is held.
    fn take_away_leftovers(&self, files: &dyn FileSystem) -> Result<(), PublishError> {
        match files.kind(&self.staging())? {
            EntryKind::Absent => {}
            EntryKind::Folder => self.remove_staging(files)?,
            EntryKind::File | EntryKind::Other => {
                return Err(PublishError::Foreign(self.staging().display().to_string()));
            }
        }
        // `foreign_in_cache` has looked into this one.
        let inner = self.out.join(CACHE).join(STAGING);
        if files.is_folder(&inner)? {
            files.remove_tree(&inner)?;
        }
        Ok(())
    }

    /// Removes the tree beside the output folder: the half of a new one, or the old one. A file that no emitter
    /// writes got there while the folders changed places; it goes back to the output folder.
    fn remove_staging(&self, files: &dyn FileSystem) -> io::Result<()> {
        let staging = self.staging();
        if files.is_folder(&staging)? {
            self.remove_emitted(files, &staging, "")?;
        }
        Ok(())
    }

    fn remove_emitted(&self, files: &dyn FileSystem, folder: &Path, above: &str) -> io::Result<()> {
        for name in files.list(folder)? {
            let path = format!("{above}{name}");
            let full = folder.join(&name);
            if files.is_folder(&full)? {
                self.remove_emitted(files, &full, &format!("{path}/"))?;
            } else if (self.owner.known)(&path) || path.starts_with(CACHE) {
                files.remove_file(&full)?;
            } else {
                let target = self.out.join(&path);
                files.create_folders(folder_of(&target))?;
                files.rename(&full, &target)?;
            }
        }
        files.remove_folder(folder)
    }

    fn staging(&self) -> PathBuf {
        let name = self.out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        self.parent().join(format!(".{name}.stave-staging"))
    }

    fn parent(&self) -> &Path {
        folder_of(self.out)
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Errors that say "not here" rather than "not now".
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported
            | io::ErrorKind::CrossesDevices
            | io::ErrorKind::ResourceBusy
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
    )
}
