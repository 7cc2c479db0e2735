//! The disk, as [`FileSystem`] wants it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stave_project::files::{self, ReadError};

use super::{EntryKind, FileSystem};

#[derive(Debug)]
pub(crate) struct Disk;

/// How many files are synchronised one by one before the whole file system is asked instead.
const FEW: usize = 16;

impl FileSystem for Disk {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(EntryKind::Folder),
            Ok(metadata) if metadata.is_file() => Ok(EntryKind::File),
            Ok(_) => Ok(EntryKind::Other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(EntryKind::Absent),
            // A file is where a folder would have to be.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(EntryKind::Absent),
            Err(error) => Err(error),
        }
    }

    fn read(&self, path: &Path, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        if self.kind(path)? != EntryKind::File {
            return Ok(None);
        }
        match files::read_plain(path, max_bytes) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::Io(error)) => Err(error),
            Err(ReadError::NotPlain(_) | ReadError::TooLarge(_)) => Ok(None),
        }
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            names.push(name.into_string().map_err(|name| {
                let message =
                    format!("{} holds a name that is not UTF-8: {}", folder.display(), name.display());
                io::Error::new(io::ErrorKind::InvalidData, message)
            })?);
        }
        names.sort_unstable();
        Ok(names)
    }

    fn holds(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        if self.kind(path)? != EntryKind::File || fs::symlink_metadata(path)?.len() != bytes.len() as u64 {
            return Ok(false);
        }
        Ok(self.read(path, bytes.len() as u64)?.is_some_and(|held| held == bytes))
    }

    fn create_folders(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        File::create_new(path)?.write_all(bytes)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE).map_err(io::Error::from)
    }

    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    fn exchange(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    /// A few files are synchronised one by one. For many, one request for the whole file system takes less
    /// time by far, where there is such a request.
    fn synchronise(&self, folder: &Path, written: &[PathBuf]) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if written.len() > FEW {
            return nix::unistd::syncfs(File::open(folder)?).map_err(io::Error::from);
        }
        for path in written {
            File::open(path)?.sync_all()?;
        }
        synchronise_folders(folder)
    }

    fn synchronise_folder(&self, folder: &Path) -> io::Result<()> {
        // Where folders cannot be opened, renames are durable by other means.
        match File::open(folder) {
            Ok(folder) => folder.sync_all(),
            Err(_) => Ok(()),
        }
    }
}

fn synchronise_folders(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            synchronise_folders(&entry.path())?;
        }
    }
    Disk.synchronise_folder(folder)
}
