//! The difference between the tree that is there and the tree that is wanted.

use super::inventory::Inventory;
use super::record::Record;
use super::{EntryKind, FileSystem, Publication, PublishError, Published};

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
    /// Whether the output folder holds something that no emitter wrote.
    pub(super) has_foreign_files: bool,
    /// The record as it was, and as it is to be.
    pub(super) before: Record,
    pub(super) after: Record,
    unchanged: usize,
}

impl<'c> Changes<'c> {
    pub(super) fn between(
        publication: &Publication<'c>,
        files: &dyn FileSystem,
    ) -> Result<Self, PublishError> {
        let before = Record::of(publication.out, files)?;
        let mut changes = Changes {
            list: Vec::new(),
            kept: Vec::new(),
            has_foreign_files: false,
            before,
            after: Record::default(),
            unchanged: 0,
        };
        for (path, bytes) in &publication.tree.files {
            changes.compare(publication, path, bytes, files)?;
        }
        let held = Inventory::of(publication.out, publication.owner, &changes.before, files)?;
        for path in held.ours {
            if publication.tree.files.contains_key(&path) {
                // Compared above.
            } else if publication.wipe || (publication.owner.emitted)(&path) {
                changes.list.push(Change::Remove { path });
            } else {
                changes.after.keep(&path, &changes.before);
                changes.kept.push(path);
            }
        }
        let mut foreign = held.foreign.into_iter().filter(|path| !publication.tree.files.contains_key(path));
        if let Some(path) = foreign.next() {
            if publication.wipe {
                return Err(PublishError::foreign(publication.out, &path));
            }
            changes.has_foreign_files = true;
        }
        Ok(changes)
    }

    /// Compares one wanted file with what is there. A file of somebody else's is never overwritten.
    fn compare(
        &mut self,
        publication: &Publication<'c>,
        path: &'c str,
        bytes: &'c [u8],
        files: &dyn FileSystem,
    ) -> Result<(), PublishError> {
        let mut folder = publication.out.to_path_buf();
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            folder.push(name);
            let kind = files.kind(&folder)?;
            let is_fine = match kind {
                EntryKind::Absent => break,
                EntryKind::Folder => names.peek().is_some(),
                EntryKind::File => names.peek().is_none(),
                EntryKind::Other => false,
            };
            if !is_fine {
                let shown = folder.strip_prefix(publication.out).unwrap_or(&folder).display().to_string();
                return Err(PublishError::foreign(publication.out, &shown));
            }
        }
        self.after.add(path, bytes);
        if files.holds(&publication.out.join(path), bytes)? {
            self.kept.push(path.to_owned());
            self.unchanged += 1;
            return Ok(());
        }
        let is_there = files.kind(&publication.out.join(path))? != EntryKind::Absent;
        if is_there && !publication.owner.owns(publication.out, path, &self.before, files)? {
            return Err(PublishError::foreign(publication.out, path));
        }
        self.list.push(Change::Write { path, bytes });
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
