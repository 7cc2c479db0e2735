//! Reading what a person named, with errors that say what to do.

use std::io::Read;
use std::path::{Path, PathBuf};

use stave_diag::codes::yaml::YAML_SYNTAX;
use stave_diag::{Diagnostic, SourceId, Span};

use crate::exit::Stop;
use crate::project;
use crate::source_kind::SourceKind;

/// How many folders below a named one are walked into.
const DEEPEST: usize = 64;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The text of a file, or of stdin for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String, Stop> {
    let name = path.display();
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Stop::invalid(format!("{name} is not UTF-8 text: byte {offset} does not belong to a character"))
    })
}

/// A text that is checked: what is wrong with its bytes is a finding like any other.
#[derive(Debug)]
pub(crate) struct SourceText {
    /// Readable throughout; bytes that belong to no character are replaced.
    pub(crate) text: String,
    /// Where the first such byte stands.
    pub(crate) broken_at: Option<usize>,
}

/// The text of a source file, or of stdin for `-`.
pub(crate) fn read_source(path: &Path) -> Result<SourceText, Stop> {
    Ok(match String::from_utf8(read_bytes(path)?) {
        Ok(text) => SourceText { text, broken_at: None },
        Err(error) => SourceText {
            broken_at: Some(error.utf8_error().valid_up_to()),
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
        },
    })
}

/// The finding about bytes that belong to no character.
pub(crate) fn not_text(source: SourceId, broken_at: usize) -> Diagnostic {
    let span = Span::new(source, broken_at, broken_at + char::REPLACEMENT_CHARACTER.len_utf8());
    Diagnostic::new(YAML_SYNTAX, span, "the file is not UTF-8 text: a byte here belongs to no character")
        .help("save the file as UTF-8")
}

/// The bytes of a file, or of stdin for `-`.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Stop> {
    let name = path.display();
    let fail = |error: std::io::Error| Stop::invalid(format!("{name} can not be read: {error}"));
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    } else {
        let file = std::fs::File::open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.is_dir() {
            return Err(Stop::invalid(format!("{name} is a folder, not a file")));
        }
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    }
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Stop::invalid(format!("{name} is larger than {MAX_FILE_BYTES} bytes")));
    }
    Ok(bytes)
}

/// A path as people know it: from the current folder when it lies below that.
pub(crate) fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
    below.unwrap_or_else(|| path.to_path_buf())
}

/// The files that a list of paths stands for: files as they are, folders with every source below them, in a
/// stable order. What the projects below a folder keep beside their flows, such as recordings and policies in
/// YAML, is no source.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    for path in paths {
        let metadata = std::fs::metadata(path)
            .map_err(|error| Stop::invalid(format!("{} can not be read: {error}", path.display())))?;
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
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let mut files = Vec::new();
    collect(folder, &mut files, 0)?;
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>, depth: usize) -> Result<(), Stop> {
    let fail =
        |error: std::io::Error| Stop::invalid(format!("{} can not be read: {error}", folder.display()));
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
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

/// Writes a file so that a reader sees the old text or the new one, never a part: a temporary file
/// beside it, synchronised, then renamed.
pub(crate) fn write_atomic(path: &Path, text: &str) -> Result<(), Stop> {
    let fail = |error: &dyn std::fmt::Display| {
        Stop::internal(format!("{} can not be written: {error}", path.display()))
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| fail(&error))?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| fail(&error))?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|error| fail(&error))?;
    file.as_file().sync_all().map_err(|error| fail(&error))?;
    if let Ok(metadata) = std::fs::metadata(path) {
        let _ = std::fs::set_permissions(file.path(), metadata.permissions());
    } else {
        relax_permissions(file.path());
    }
    file.persist(path).map_err(|error| fail(&error.error))?;
    Ok(())
}

/// A temporary file is private; a file that people share is readable.
#[cfg(unix)]
fn relax_permissions(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644));
}

#[cfg(not(unix))]
fn relax_permissions(_: &Path) {}
