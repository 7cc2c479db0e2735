//! Keeps outputs away from sources: an output folder that holds a source is refused.
//!
//! Folders are compared by identity and not by spelling, so that links, `..`, bind mounts and file systems that
//! ignore case make no difference.

use std::path::Path;

use stave_project::exit::Stop;

/// The output folder, which need not be there yet.
#[derive(Debug)]
pub(super) struct OutputFolder<'o> {
    path: &'o Path,
    identity: Option<Identity>,
}

#[derive(Debug, PartialEq, Eq)]
struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    fn of(path: &Path) -> Option<Identity> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).ok()?;
        Some(Identity(metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn of(_: &Path) -> Option<Identity> {
        None
    }
}

impl<'o> OutputFolder<'o> {
    pub(super) fn new(path: &'o Path) -> OutputFolder<'o> {
        OutputFolder { path, identity: Identity::of(path) }
    }

    /// The path below the output folder of a file that lies in it.
    pub(super) fn inside(&self, file: &Path) -> Option<String> {
        let folder = file.ancestors().find(|folder| {
            *folder == self.path || self.identity.is_some() && Identity::of(folder) == self.identity
        })?;
        Some(file.strip_prefix(folder).ok()?.to_string_lossy().into_owned())
    }

    /// A source in the output folder could be overwritten or removed with the outputs.
    pub(super) fn refuse(&self, source: &Path) -> Stop {
        let what = format!("{} holds the source {}", self.path.display(), source.display());
        Stop::refused(what).help("choose an output folder that holds no sources, such as --out build")
    }
}
