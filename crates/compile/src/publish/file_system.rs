//! The operations that publishing is made of, so that a test can stop after any of them.

use std::io;
use std::path::{Path, PathBuf};

/// What a path leads to. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Absent,
    File,
    Folder,
    /// A link, a pipe, a socket or a device.
    Other,
}

pub(crate) trait FileSystem {
    fn kind(&self, path: &Path) -> io::Result<EntryKind>;

    fn is_folder(&self, path: &Path) -> io::Result<bool> {
        Ok(self.kind(path)? == EntryKind::Folder)
    }

    /// The bytes of a plain file of at most so many bytes; `None` for anything else.
    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Option<Vec<u8>>>;

    /// The names in a folder, sorted.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Whether a plain file with exactly these bytes is there.
    fn holds(&self, path: &Path, bytes: &[u8]) -> io::Result<bool>;

    fn create_folders(&self, folder: &Path) -> io::Result<()>;

    /// Makes a file. Its bytes are durable after [`FileSystem::synchronise`].
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// A second name for a file.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Two folders change places in one step.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    fn remove_file(&self, path: &Path) -> io::Result<()>;

    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// Makes the files that were written below a folder durable, and the folders themselves.
    fn synchronise(&self, folder: &Path, written: &[PathBuf]) -> io::Result<()>;

    /// Makes the names in a folder durable.
    fn synchronise_folder(&self, folder: &Path) -> io::Result<()>;

    /// Removes a file, or a folder with everything in it. Links are removed, never followed.
    fn remove_tree(&self, path: &Path) -> io::Result<()> {
        if !self.is_folder(path)? {
            return self.remove_file(path);
        }
        for name in self.list(path)? {
            self.remove_tree(&path.join(name))?;
        }
        self.remove_folder(path)
    }
}
