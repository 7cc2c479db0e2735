//! The difference between the tree that is there and the tree that is wanted.

use std::io;

use super::{CACHE, FileSystem, Publication, Published};

/// Whose a path below the output folder is.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'o> {
    /// The names directly below the output folder that are looked into.
    pub(crate) roots: &'o [&'o str],
    /// Whether some emitter makes paths like this one.
    pub(crate) known: &'o dyn Fn(&str) -> bool,
    /// Whether an emitter of this compile makes paths like this one, so that they are pruned.
    pub(crate) emitted: &'o dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Owner<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Owner").field("roots", &self.roots).finish_non_exhaustive()
    }
}

/// One file that has to change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change<'c> {
    Write { path: &'c str, bytes: &'c [u8] },
    Remove { path: String },
}

#[derive(Debug)]
pub(super) struct Changes<'c> {
    pub(super) list: Vec<Change<'c>>,
    /// Files that stay as they are.
    pub(super) kept: Vec<String>,
    /// Whether the output folder holds something that no emitter makes.
    pub(super) has_foreign_files: bool,
    unchanged: usize,
}

impl<'c> Changes<'c> {
    pub(super) fn between(publication: &Publication<'c>, files: &dyn FileSystem) -> io::Result<Self> {
        let mut changes =
            Changes { list: Vec::new(), kept: Vec::new(), has_foreign_files: false, unchanged: 0 };
        for (path, bytes) in &publication.tree.files {
            if !publication.wipe && files.holds(&publication.out.join(path), bytes)? {
                changes.kept.push(path.clone());
                changes.unchanged += 1;
            } else {
                changes.list.push(Change::Write { path, bytes });
            }
        }
        if !publication.wipe && files.is_folder(publication.out)? {
            for name in files.list(publication.out)? {
                if name == CACHE {
                    continue;
                }
                if publication.owner.roots.contains(&name.as_str()) {
                    changes.look_into(publication, files, name, 0)?;
                } else {
                    changes.has_foreign_files = true;
                }
            }
        }
        Ok(changes)
    }

    fn look_into(
        &mut self,
        publication: &Publication<'c>,
        files: &dyn FileSystem,
        path: String,
        depth: usize,
    ) -> io::Result<()> {
        let full = publication.out.join(&path);
        if files.is_folder(&full)? {
            if depth > 8 {
                self.has_foreign_files = true;
                return Ok(());
            }
            for name in files.list(&full)? {
                self.look_into(publication, files, format!("{path}/{name}"), depth + 1)?;
            }
        } else if publication.tree.files.contains_key(&path) {
            // Compared above.
        } else if (publication.owner.emitted)(&path) {
            self.list.push(Change::Remove { path });
        } else if (publication.owner.known)(&path) {
            self.kept.push(path);
        } else {
            self.has_foreign_files = true;
        }
        Ok(())
    }

    pub(super) fn published(&self) -> Published {
        let mut published = Published { unchanged: self.unchanged, ..Published::default() };
        for change in &self.list {
            match change {
                Change::Write { path, .. } => published.written.push((*path).to_owned()),
                Change::Remove { path } => published.removed.push(path.clone()),
            }
        }
        published
    }
}
