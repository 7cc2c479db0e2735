//! Reading what a person named, with errors that say what to do.

mod private;
mod read;
mod recordings;
mod write;

use std::path::{Path, PathBuf};

use stave_diag::codes::yaml::YAML_SYNTAX;
use stave_diag::{Diagnostic, SourceId, Span};

use crate::exit::Stop;
use crate::project;
use crate::source_kind::SourceKind;

pub use private::{check_keys_file, make_all_private, prepare_database};
pub(crate) use private::{is_writable, make_writable, report_looser_mode};
pub(crate) use read::read_named;
pub use read::{MAX_FILE_BYTES, ReadError, open_plain, read_plain};
pub use recordings::{check_named_recording, check_recording_target, hosts_recording, keep_recording};
pub use write::{create_private_folder, stays_in_its_project, write_atomic, write_private};

/// How many folders below a named one are walked into.
const DEEPEST: usize = 64;

/// The text of a file, or of stdin for `-`.
pub fn read_text(path: &Path) -> Result<String, Stop> {
    let name = path.display();
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Stop::invalid(format!("{name} is not UTF-8 text: byte {offset} does not belong to a character"))
    })
}

/// A text that is checked: what is wrong with its bytes is a finding like any other.
#[derive(Debug)]
pub struct CheckedText {
    /// Readable throughout; bytes that belong to no character are replaced.
    pub text: String,
    /// The place of the first such byte.
    pub broken_at: Option<usize>,
}

/// The text of a source file, or of stdin for `-`.
pub fn read_source(path: &Path) -> Result<CheckedText, Stop> {
    Ok(match String::from_utf8(read_bytes(path)?) {
        Ok(text) => CheckedText { text, broken_at: None },
        Err(error) => CheckedText {
            broken_at: Some(error.utf8_error().valid_up_to()),
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
        },
    })
}

/// The finding about bytes that belong to no character.
pub fn not_text(source: SourceId, broken_at: usize) -> Diagnostic {
    let span = Span::new(source, broken_at, broken_at + char::REPLACEMENT_CHARACTER.len_utf8());
    Diagnostic::new(YAML_SYNTAX, span, "the file is not UTF-8 text: a byte here belongs to no character")
        .help("save the file as UTF-8")
}

/// The bytes of a file, or of stdin for `-`.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Stop> {
    read_named(path, MAX_FILE_BYTES).map_err(|error| error.about(path))
}

/// A path as people know it: from the current folder when it lies below that.
pub fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
    match below {
        Some(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Some(below) => below,
        None => path.to_path_buf(),
    }
}

/// The files that a list of paths stands for: files as they are, folders with every source below them, in a
/// stable order. What the projects below a folder keep beside their flows, such as recordings and policies in
/// YAML, is no source.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path)
            .map_err(|error| Stop::invalid(format!("{} cannot be read: {error}", path.display())))?;
        if metadata.is_dir() {
            let before = files.len();
            let found = below(path)?;
            let projects =
                found.iter().filter(|file| file.file_name().is_some_and(|name| name == project::FILE));
            let other: Vec<PathBuf> = projects.flat_map(|file| project::other_yaml(file)).collect();
            files.extend(found.into_iter().filter(|file| match SourceKind::of(file) {
                Some(SourceKind::Flow) => !other.iter().any(|other| file.starts_with(other)),
                kind => kind.is_some(),
            }));
            if files.len() == before {
                return Err(Stop::invalid(format!(
                    "{} has no .yaml, .yml, .wdl or .pdl files in it",
                    path.display()
                )));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// Every file below a folder that is not hidden, in a stable order. Links to folders are not followed, so that a link to
/// a folder above ends nowhere.
pub fn below(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    collect(folder, &mut files, 0)?;
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>, depth: usize) -> Result<(), Stop> {
    let fail = |error: std::io::Error| Stop::invalid(format!("{} cannot be read: {error}", folder.display()));
    if depth > DEEPEST {
        return Err(Stop::invalid(format!("{} lies more than {DEEPEST} folders deep", folder.display())));
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        entries.push((entry.path(), entry.file_type().map_err(fail)?));
    }
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (path, kind) in entries {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
            continue;
        }
        if kind.is_dir() {
            collect(&path, files, depth + 1)?;
        } else if path.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
            // A pipe or a device that is named like a source is reported when it is read.
            files.push(path);
        }
    }
    Ok(())
}
