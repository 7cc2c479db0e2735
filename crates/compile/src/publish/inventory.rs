//! What an output folder holds, and which of it `stave compile` wrote.
//!
//! A file is ours when an emitter writes paths like its own and either the folder's record lists its bytes or
//! its content is of the kind that the emitter writes there. Everything else is foreign: other files, links,
//! pipes, sockets, devices. Links are never followed.

use std::io;
use std::path::Path;

use super::record::{self, Record};
use super::{CACHE, EntryKind, FileSystem};

/// A file that is larger than this is not one of ours.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Emitters write no deeper than this.
const MAX_DEPTH: usize = 8;

/// Whose a path below the output folder is.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'o> {
    /// The names directly below the output folder that are looked into.
    pub(crate) roots: &'o [&'o str],
    /// Whether some emitter makes paths like this one.
    pub(crate) known: &'o dyn Fn(&str) -> bool,
    /// Whether an emitter of this compile makes paths like this one, so that they are pruned.
    pub(crate) emitted: &'o dyn Fn(&str) -> bool,
    /// Whether bytes at a path are of the kind that an emitter writes there.
    pub(crate) recognises: &'o dyn Fn(&str, &[u8]) -> bool,
}

impl std::fmt::Debug for Owner<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Owner").field("roots", &self.roots).finish_non_exhaustive()
    }
}

impl Owner<'_> {
    /// Whether `stave compile` wrote the file at a path below the output folder.
    pub(crate) fn owns(
        &self,
        out: &Path,
        path: &str,
        record: &Record,
        files: &dyn FileSystem,
    ) -> io::Result<bool> {
        if !(self.known)(path) {
            return Ok(false);
        }
        let bytes = files.read(&out.join(path), MAX_BYTES)?;
        Ok(bytes.is_some_and(|bytes| record.lists(path, &bytes) || (self.recognises)(path, &bytes)))
    }
}

/// The files of an output folder by their paths below it, without the cache.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    pub(crate) ours: Vec<String>,
    /// Files of others, and what is no file.
    pub(crate) foreign: Vec<String>,
    /// The folders inside the roots of emitters, deepest first.
    pub(crate) folders: Vec<String>,
}

impl Inventory {
    pub(crate) fn of(
        out: &Path,
        owner: Owner<'_>,
        record: &Record,
        files: &dyn FileSystem,
    ) -> io::Result<Inventory> {
        let mut inventory = Inventory::default();
        if files.kind(out)? != EntryKind::Folder {
            return Ok(inventory);
        }
        for name in files.list(out)? {
            if name == CACHE {
                continue;
            }
            if owner.roots.contains(&name.as_str()) {
                inventory.look_into(out, name, owner, record, files, 0)?;
            } else {
                inventory.foreign.push(name);
            }
        }
        Ok(inventory)
    }

    fn look_into(
        &mut self,
        out: &Path,
        path: String,
        owner: Owner<'_>,
        record: &Record,
        files: &dyn FileSystem,
        depth: usize,
    ) -> io::Result<()> {
        match files.kind(&out.join(&path))? {
            EntryKind::Folder if depth <= MAX_DEPTH => {
                for name in files.list(&out.join(&path))? {
                    self.look_into(out, format!("{path}/{name}"), owner, record, files, depth + 1)?;
                }
                self.folders.push(path);
            }
            EntryKind::File if owner.owns(out, &path, record, files)? => self.ours.push(path),
            EntryKind::Absent => {}
            _ => self.foreign.push(path),
        }
        Ok(())
    }
}

/// What of the cache folder is not ours; the whole folder when it is a link or a file.
pub(crate) fn foreign_in_cache(out: &Path, files: &dyn FileSystem) -> io::Result<Option<String>> {
    let cache = out.join(CACHE);
    match files.kind(&cache)? {
        EntryKind::Absent => return Ok(None),
        EntryKind::Folder => {}
        EntryKind::File | EntryKind::Other => return Ok(Some(CACHE.to_owned())),
    }
    for name in files.list(&cache)? {
        let kind = files.kind(&cache.join(&name))?;
        let is_ours = match name.as_str() {
            super::STAGING => kind == EntryKind::Folder && holds_numbered_files(&cache.join(&name), files)?,
            super::PACK | super::NEXT_PACK | record::FILE => kind == EntryKind::File,
            _ => false,
        };
        if !is_ours {
            return Ok(Some(format!("{CACHE}/{name}")));
        }
    }
    Ok(None)
}

/// Whether a staging folder holds what publishing puts there: files with numbers for names.
fn holds_numbered_files(folder: &Path, files: &dyn FileSystem) -> io::Result<bool> {
    for name in files.list(folder)? {
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || files.kind(&folder.join(&name))? != EntryKind::File {
            return Ok(false);
        }
    }
    Ok(true)
}
