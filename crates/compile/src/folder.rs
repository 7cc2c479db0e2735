//! The output folder: where it really is, and who may work on it.

use std::fs::File;
use std::path::{Path, PathBuf};

use stave_project::exit::Stop;

/// The output folder without symbolic links, so that exchanging it exchanges what it stands for.
pub fn output_folder(out: &Path) -> Result<PathBuf, Stop> {
    let fail = |error: std::io::Error| Stop::invalid(format!("{} cannot be used: {error}", out.display()));
    if let Ok(found) = out.canonicalize() {
        if !found.is_dir() {
            return Err(Stop::invalid(format!("{} is not a folder", out.display())));
        }
        return Ok(found);
    }
    let absolute = std::path::absolute(out).map_err(fail)?;
    // The part that exists is resolved; the rest will be made.
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            if !found.is_dir() {
                return Err(Stop::invalid(format!("{} is not a folder", existing.display())));
            }
            return Ok(missing.into_iter().rev().fold(found, |path: PathBuf, name| path.join(name)));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return Err(Stop::invalid(format!("{} cannot be used", out.display())));
        };
        missing.push(name);
        existing = parent;
    }
}

/// Keeps two compiles from working on one output folder at a time: the second waits. The lock is on the
/// folder above, which stays where it is when the output folder is exchanged.
pub(crate) fn lock(out: &Path) -> Result<Option<File>, Stop> {
    let parent = out.parent().unwrap_or(out);
    std::fs::create_dir_all(parent)
        .map_err(|error| Stop::internal(format!("{} cannot be made: {error}", parent.display())))?;
    // Where folders cannot be opened or locked, the callers have to keep compiles apart.
    Ok(File::open(parent).ok().filter(|folder| folder.lock().is_ok()))
}
