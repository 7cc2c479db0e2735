//! The one way of writing a file: whole, in its place, and nowhere else.
//!
//! Invariants: a reader sees the old text or the new one; an existing file keeps its mode; a link is written
//! through only when it leads to a plain file of the same project; pipes, devices and folders are refused; what
//! may hold secrets or prompts is readable by its owner only from its first moment on.

use std::fs::Metadata;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::report_looser_mode;
use crate::exit::Stop;
use crate::project;

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    Everybody,
    Owner,
}

/// Writes a file that people share.
pub fn write_atomic(path: &Path, text: &str) -> Result<(), Stop> {
    write(path, text.as_bytes(), Readers::Everybody)
}

/// Writes a file with prompts, replies or values of a run. One that is made is readable by its owner only.
pub fn write_private(path: &Path, text: &str) -> Result<(), Stop> {
    write(path, text.as_bytes(), Readers::Owner)
}

fn write(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), Stop> {
    let fail = |error: &dyn std::fmt::Display| {
        Stop::internal(format!("{} can't be written: {error}", path.display()))
    };
    let target = target(path)?;
    let folder = parent(&target);
    std::fs::create_dir_all(folder).map_err(|error| fail(&error))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| fail(&error))?;
    file.write_all(bytes).map_err(|error| fail(&error))?;
    if let Ok(metadata) = std::fs::symlink_metadata(&target) {
        file.as_file().set_permissions(metadata.permissions()).map_err(|error| fail(&error))?;
        if readers == Readers::Owner {
            report_looser_mode(&target);
        }
    } else if readers == Readers::Everybody {
        relax_permissions(file.as_file());
    }
    file.as_file().sync_all().map_err(|error| fail(&error))?;
    file.persist(&target).map_err(|error| fail(&error.error))?;
    Ok(())
}

/// The file that is replaced when a path is written to.
fn target(path: &Path) -> Result<PathBuf, Stop> {
    stays_in_its_project(path)?;
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(path.to_path_buf()) };
    if !metadata.file_type().is_symlink() {
        return must_be_plain(path, &metadata).map(|()| path.to_path_buf());
    }
    let refuse = |reason: &str| {
        let stop = Stop::refused(format!("{} is a symbolic link {reason}", path.display()));
        stop.help("name the file itself")
    };
    let target = path.canonicalize().map_err(|_| refuse("that leads nowhere"))?;
    let metadata = std::fs::symlink_metadata(&target).map_err(|_| refuse("that leads nowhere"))?;
    must_be_plain(path, &metadata)?;
    let home = home(path).ok_or_else(|| refuse("in a folder that can't be read"))?;
    if !target.starts_with(&home) {
        return Err(refuse(&format!("out of {}", home.display())));
    }
    Ok(target)
}

/// Refuses a path that lies in a project by its names and out of it by its links.
pub fn stays_in_its_project(path: &Path) -> Result<(), Stop> {
    let Ok(written) = std::path::absolute(path) else { return Ok(()) };
    let above = written.ancestors().skip(1);
    // A folder that is to be made is where the nearest one above it is.
    let Some(real) = above.clone().find_map(|folder| folder.canonicalize().ok()) else { return Ok(()) };
    // `..` after a link leads elsewhere than its names say; such a path is nobody's promise.
    if written.components().any(|part| part == std::path::Component::ParentDir) {
        return Ok(());
    }
    for folder in above.filter(|folder| folder.join(project::FILE).is_file()) {
        if folder.canonicalize().is_ok_and(|folder| !real.starts_with(folder)) {
            let stop = Stop::refused(format!("a link leads from {} out of its project", path.display()));
            return Err(stop.help(format!("name the file itself: it lies in {}", real.display())));
        }
    }
    Ok(())
}

/// The folder that a link must not lead out of: the project that it lies in, or else its own folder.
fn home(path: &Path) -> Option<PathBuf> {
    let folder = parent(path).canonicalize().ok()?;
    let project = folder.ancestors().find(|folder| folder.join(project::FILE).is_file());
    Some(project.map_or_else(|| folder.clone(), Path::to_path_buf))
}

fn must_be_plain(path: &Path, metadata: &Metadata) -> Result<(), Stop> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = if metadata.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Err(Stop::refused(format!("{} is {what}, not a file to write to", path.display())))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a folder that only its owner can look into, and those above it that are not there. One that is there keeps its mode.
pub fn create_private_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_private_folder(above)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process was first.
        Err(_) if folder.is_dir() => Ok(()),
        made => made,
    }
}

/// A temporary file is private; a file that people share is readable.
#[cfg(unix)]
fn relax_permissions(file: &std::fs::File) {
    use std::os::unix::fs::PermissionsExt;
    let _ = file.set_permissions(std::fs::Permissions::from_mode(0o644));
}

#[cfg(not(unix))]
fn relax_permissions(_: &std::fs::File) {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_link_out_of_the_project_is_refused_and_one_inside_is_kept() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = folder.path();
        std::fs::write(root.join("stave.toml"), "").unwrap();
        std::fs::write(root.join("inside"), "old").unwrap();
        std::fs::write(outside.path().join("precious"), "old").unwrap();
        symlink("inside", root.join("link")).unwrap();
        symlink(outside.path().join("precious"), root.join("way-out")).unwrap();
        symlink(outside.path().join("absent"), root.join("nowhere")).unwrap();
        write_atomic(&root.join("link"), "new").unwrap();
        assert_eq!(std::fs::read_to_string(root.join("inside")).unwrap(), "new");
        assert!(root.join("link").is_symlink());
        for link in ["way-out", "nowhere"] {
            assert_eq!(write_atomic(&root.join(link), "new").unwrap_err().exit, Exit::Refused);
        }
        assert_eq!(std::fs::read_to_string(outside.path().join("precious")).unwrap(), "old");
        assert!(!outside.path().join("absent").exists());
    }

    #[test]
    fn modes_are_kept_and_private_files_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let mode =
            |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        write_private(&folder.path().join("private"), "x").unwrap();
        write_atomic(&folder.path().join("shared"), "x").unwrap();
        assert_eq!((mode("private"), mode("shared")), (0o600, 0o644));
        std::fs::set_permissions(folder.path().join("shared"), PermissionsExt::from_mode(0o750)).unwrap();
        write_atomic(&folder.path().join("shared"), "y").unwrap();
        assert_eq!(mode("shared"), 0o750);
        assert_eq!(write_atomic(folder.path(), "x").unwrap_err().exit, Exit::Refused);
    }
}
