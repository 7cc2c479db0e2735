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

mod changes;
mod disk;
mod file_system;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use super::emit::Tree;

pub(crate) use changes::Owner;
use changes::{Change, Changes};
pub(crate) use disk::Disk;
pub(crate) use file_system::FileSystem;

/// The folder below the output folder that holds what is not part of the public contract.
pub(crate) const CACHE: &str = ".ir-cache";
const MANIFEST: &str = "manifest.json";

/// What publishing came to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) written: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) unchanged: usize,
}

/// What is to be published, and where.
#[derive(Debug)]
pub(crate) struct Publication<'p> {
    /// The output folder, absolute and without symbolic links.
    pub(crate) out: &'p Path,
    pub(crate) tree: &'p Tree,
    pub(crate) owner: Owner<'p>,
    /// Whether everything else in the output folder goes too.
    pub(crate) wipe: bool,
    /// Whether the output folder itself may be replaced: not when somebody stands in it.
    pub(crate) may_exchange: bool,
}

impl Publication<'_> {
    /// Publishes. The caller holds the lock of the output folder.
    pub(crate) fn publish(&self, files: &dyn FileSystem) -> io::Result<Published> {
        self.take_away_leftovers(files)?;
        let changes = Changes::between(self, files)?;
        match changes.list.as_slice() {
            [] if !self.wipe => {}
            [change] if !self.wipe => self.apply_in_order(files, std::slice::from_ref(change))?,
            list => {
                let exchanged = self.may_exchange
                    && (!changes.has_foreign_files || self.wipe)
                    && self.exchange(files, &changes)?;
                if !exchanged {
                    self.apply_in_order(files, list)?;
                }
            }
        }
        Ok(changes.published())
    }

    /// Builds the new tree beside the output folder and puts it in its place. `false` when the file system
    /// can not do that; nothing has changed then.
    fn exchange(&self, files: &dyn FileSystem, changes: &Changes<'_>) -> io::Result<bool> {
        let staging = self.staging();
        let written = match self.build(files, changes, &staging) {
            Ok(written) => written,
            Err(error) if is_unsupported(&error) => {
                if files.is_folder(&staging)? {
                    files.remove_tree(&staging)?;
                }
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
                files.remove_tree(&staging)?;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        files.synchronise_folder(self.parent())?;
        // The new tree is in place. What follows keeps the cache and takes the old tree away.
        let cache = staging.join(CACHE);
        if !self.wipe && files.is_folder(&cache)? {
            files.rename(&cache, &self.out.join(CACHE))?;
        }
        files.remove_tree(&staging)?;
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
        let mut written = Vec::new();
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
    fn apply_in_order(&self, files: &dyn FileSystem, list: &[Change<'_>]) -> io::Result<()> {
        if self.wipe {
            for name in files.list(self.out)? {
                files.remove_tree(&self.out.join(name))?;
            }
        }
        let staging = self.out.join(CACHE).join("staging");
        files.create_folders(&staging)?;
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
        files.remove_tree(&staging)?;
        files.synchronise_folder(self.out)
    }

    /// What a process that died left behind. Nobody else works here: the lock is held.
    fn take_away_leftovers(&self, files: &dyn FileSystem) -> io::Result<()> {
        let staging = self.staging();
        if files.is_folder(&staging)? {
            files.remove_tree(&staging)?;
        }
        let inner = self.out.join(CACHE).join("staging");
        if files.is_folder(&inner)? {
            files.remove_tree(&inner)?;
        }
        Ok(())
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
