//! Where the text of references comes from: files below the project's root, and git.
//!
//! Invariant: nothing outside the root is read. A path is judged as it is written, and again where it
//! really leads once links are followed.

mod git;
mod listed;
mod wildcard;

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use stave_prompt::FileSelection;
use stave_prompt::resolve::{ReferenceSource, ReferenceText, Unavailable};

pub use self::listed::ListedContext;
use crate::exit::Stop;
use crate::files::{self, ReadError};

/// The most that is read of a file whose beginning is wanted; 10,000 characters are never longer.
const BEGINNING_BYTES: u64 = 64 * 1024;

/// The most that is read of a file of which lines are wanted.
const LINES_BYTES: u64 = 8 * 1024 * 1024;

/// The files and the history of a project.
#[derive(Debug)]
pub struct ProjectContext {
    /// Canonical, so that paths that lead out of it are detected.
    root: PathBuf,
}

impl ProjectContext {
    pub fn new(root: &Path) -> Result<Self, Stop> {
        let root = root
            .canonicalize()
            .map_err(|error| Stop::invalid(format!("{} cannot be used: {error}", root.display())))?;
        Ok(ProjectContext { root })
    }

    /// The file that a path names. Separators and percent signs are tried unchanged first.
    fn find(&self, path: &str) -> Result<PathBuf, Unavailable> {
        let mut reason = Unavailable::Missing;
        for spelling in spellings(path) {
            match self.place(&spelling) {
                Err(Unavailable::Missing) => {}
                Err(other) => reason = other,
                Ok(found) => return Ok(found),
            }
        }
        Err(reason)
    }

    fn place(&self, path: &str) -> Result<PathBuf, Unavailable> {
        if path.is_empty() || path.contains('\0') {
            return Err(Unavailable::Missing);
        }
        let relative = match Path::new(path).strip_prefix(&self.root) {
            Ok(inside) => inside.to_path_buf(),
            Err(_) => PathBuf::from(path),
        };
        if leads_out(&relative) {
            return Err(Unavailable::Outside);
        }
        let found = self.root.join(relative).canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Unavailable::Missing,
            _ => Unavailable::Failed(format!("it cannot be read: {error}")),
        })?;
        if found.starts_with(&self.root) { Ok(found) } else { Err(Unavailable::Outside) }
    }

    /// A name for people: relative to the root, with one kind of separator.
    fn name(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<String> =
            relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        parts.join("/")
    }

    fn read(&self, path: &Path, wants_lines: bool) -> Result<ReferenceText, Unavailable> {
        let fail = |error: std::io::Error| Unavailable::Failed(format!("it cannot be read: {error}"));
        let file = files::open_plain(path).map_err(|error| match error {
            ReadError::Io(error) => fail(error),
            ReadError::NotPlain("a folder") => Unavailable::Folder,
            ReadError::NotPlain(_) | ReadError::TooLarge(_) => Unavailable::Binary,
        })?;
        let metadata = file.metadata().map_err(fail)?;
        let limit = if wants_lines { LINES_BYTES } else { BEGINNING_BYTES };
        if wants_lines && metadata.len() > limit {
            return Err(Unavailable::TooLarge(format!(
                "{} bytes, and lines are taken from {limit}",
                metadata.len()
            )));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(fail)?;
        let is_cut = metadata.len() > limit;
        if bytes.contains(&0) {
            return Err(Unavailable::Binary);
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // A cut may fall into a character.
            Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
                let end = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                bytes.truncate(end);
                String::from_utf8(bytes).map_err(|_| Unavailable::Binary)?
            }
            Err(_) => return Err(Unavailable::Binary),
        };
        let text = text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned).replace("\r\n", "\n");
        let real_paths = vec![path.to_string_lossy().into_owned()];
        Ok(ReferenceText { name: self.name(path), real_paths, text, is_cut })
    }
}

impl ProjectContext {
    /// Why no run can make a diff of this name; `None` where the root is no checkout.
    #[must_use]
    pub fn diff_fault(&self, reference: &str) -> Option<Unavailable> {
        git::check(&self.root, reference)
    }
}

impl ReferenceSource for ProjectContext {
    fn files(&self, selection: &FileSelection<'_>) -> Result<Vec<ReferenceText>, Unavailable> {
        let wants_lines = selection.lines.is_some();
        match self.find(selection.path) {
            Ok(path) => return Ok(vec![self.read(&path, wants_lines)?]),
            // A name may have such signs in it; only what is no file is a wildcard.
            Err(Unavailable::Missing) if selection.is_glob() => {}
            Err(reason) => return Err(reason),
        }
        let pattern = selection.path.replace('\\', "/");
        if leads_out(Path::new(&pattern)) {
            return Err(Unavailable::Outside);
        }
        let paths = wildcard::matching(&self.root, &pattern).map_err(Unavailable::TooLarge)?;
        let mut texts = Vec::new();
        for path in paths {
            // What is matched by the way and is no text is no mistake of the reference.
            match self.place(&self.name(&path)).and_then(|path| self.read(&path, wants_lines)) {
                Ok(text) => texts.push(text),
                Err(Unavailable::Binary | Unavailable::Folder | Unavailable::Outside) => {}
                Err(reason) => return Err(reason),
            }
        }
        Ok(texts)
    }

    fn diff(&self, reference: &str) -> Result<ReferenceText, Unavailable> {
        git::diff(&self.root, reference, |_| true)
    }

    fn root(&self) -> Option<&Path> {
        Some(&self.root)
    }
}

/// The ways to read a path: unchanged, with one kind of separator, and without percent signs.
fn spellings(path: &str) -> Vec<String> {
    let mut all = vec![path.to_owned()];
    if path.contains('\\') {
        all.push(path.replace('\\', "/"));
    }
    if path.contains('%') {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        all.push(decoded.replace('\\', "/"));
    }
    all
}

/// Whether a path, as it is written, leaves the folder it starts in.
fn leads_out(path: &Path) -> bool {
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return true,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            Component::Normal(_) => depth += 1,
        }
    }
    false
}
