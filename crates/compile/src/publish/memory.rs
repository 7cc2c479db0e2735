//! A file system in memory that dies after a chosen number of operations, as a killed process does.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{EntryKind, FileSystem};

/// A file's bytes, or a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    File(Rc<Vec<u8>>),
    Folder,
}

#[derive(Debug, Clone)]
pub(super) struct Memory {
    entries: RefCell<BTreeMap<PathBuf, Entry>>,
    /// How many changes are still made; every one after that fails.
    left: Cell<usize>,
    can_exchange: bool,
    /// A folder that cannot be written to.
    read_only: Option<PathBuf>,
}

impl Memory {
    pub(super) fn new(can_exchange: bool) -> Self {
        Memory { entries: RefCell::default(), left: Cell::new(usize::MAX), can_exchange, read_only: None }
    }

    pub(super) fn dying_after(&self, operations: usize) -> Self {
        let memory = self.clone();
        memory.left.set(operations);
        memory
    }

    pub(super) fn revived(&self) -> Self {
        self.dying_after(usize::MAX)
    }

    pub(super) fn put(&self, path: &str, bytes: &[u8]) {
        self.make_folders(Path::new(path).parent().unwrap_or(Path::new("/")));
        self.entries.borrow_mut().insert(path.into(), Entry::File(Rc::new(bytes.to_vec())));
    }

    /// The files below a folder, by their path from it.
    pub(super) fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let entries = self.entries.borrow();
        let below = entries.iter().filter_map(|(path, entry)| match entry {
            Entry::File(bytes) => {
                let path = path.strip_prefix(folder).ok()?;
                Some((path.to_string_lossy().into_owned(), bytes.to_vec()))
            }
            Entry::Folder => None,
        });
        below.collect()
    }

    fn make_folders(&self, folder: &Path) {
        for folder in folder.ancestors() {
            self.entries.borrow_mut().entry(folder.to_path_buf()).or_insert(Entry::Folder);
        }
    }

    /// One change, unless the process has died.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<PathBuf, Entry>) -> io::Result<T>,
    ) -> io::Result<T> {
        match self.left.get().checked_sub(1) {
            None => Err(io::Error::other("the process has died")),
            Some(left) => {
                self.left.set(left);
                change(&mut self.entries.borrow_mut())
            }
        }
    }

    fn moved(entries: &BTreeMap<PathBuf, Entry>, from: &Path, to: &Path) -> Vec<(PathBuf, PathBuf, Entry)> {
        let below = entries.iter().filter_map(|(path, entry)| {
            let rest = path.strip_prefix(from).ok()?;
            let target = if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) };
            Some((path.clone(), target, entry.clone()))
        });
        below.collect()
    }
}

impl FileSystem for Memory {
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        Ok(match self.entries.borrow().get(path) {
            None => EntryKind::Absent,
            Some(Entry::File(_)) => EntryKind::File,
            Some(Entry::Folder) => EntryKind::Folder,
        })
    }

    fn read(&self, path: &Path, _: u64) -> io::Result<Option<Vec<u8>>> {
        Ok(match self.entries.borrow().get(path) {
            Some(Entry::File(bytes)) => Some(bytes.to_vec()),
            _ => None,
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let entries = self.entries.borrow();
        let names =
            entries.keys().filter(|path| path.parent() == Some(folder)).filter_map(|path| path.file_name());
        Ok(names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn holds(&self, path: &Path, bytes: &[u8]) -> io::Result<bool> {
        Ok(matches!(self.entries.borrow().get(path), Some(Entry::File(held)) if held.as_slice() == bytes))
    }

    fn create_folders(&self, folder: &Path) -> io::Result<()> {
        if self.read_only.as_deref() == folder.parent() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.change(|_| Ok(()))?;
        self.make_folders(folder);
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // A process may die in the middle of writing, so a half is an operation of its own.
        for end in [bytes.len() / 2, bytes.len()] {
            let part = Rc::new(bytes.get(..end).unwrap_or_default().to_vec());
            self.change(|entries| {
                entries.insert(path.to_path_buf(), Entry::File(part));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|entries| {
            let entry = entries.get(from).cloned().ok_or(io::ErrorKind::NotFound)?;
            entries.insert(to.to_path_buf(), entry);
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|entries| {
            let moved = Self::moved(entries, from, to);
            if moved.is_empty() {
                return Err(io::ErrorKind::NotFound.into());
            }
            for (old, _, _) in &moved {
                entries.remove(old);
            }
            entries.extend(moved.into_iter().map(|(_, new, entry)| (new, entry)));
            Ok(())
        })
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        if !self.can_exchange {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.change(|entries| {
            let moved = [Self::moved(entries, one, other), Self::moved(entries, other, one)].concat();
            for (old, _, _) in &moved {
                entries.remove(old);
            }
            entries.extend(moved.into_iter().map(|(_, new, entry)| (new, entry)));
            Ok(())
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.change(|entries| entries.remove(path).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into()))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.change(|entries| {
            assert!(
                !entries.keys().any(|other| other.parent() == Some(path)),
                "{} is not empty",
                path.display()
            );
            entries.remove(path).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }

    fn synchronise(&self, _: &Path, _: &[PathBuf]) -> io::Result<()> {
        self.change(|_| Ok(()))
    }

    fn synchronise_folder(&self, _: &Path) -> io::Result<()> {
        self.change(|_| Ok(()))
    }
}
