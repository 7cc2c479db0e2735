//! Where recordings may be written. A flow names the file, and flows are untrusted, so nothing but a recording is replaced.

use std::path::{Path, PathBuf};

use stave_canon::Value;
use stave_llm::recording::Recording;

use super::read::{MAX_FILE_BYTES, read_plain};
use super::write::write_private;
use crate::exit::Stop;
use crate::warnings::warn_once;

/// The file with the recorded replies of hosts, beside that of the models.
pub fn hosts_recording(recording: &Path) -> PathBuf {
    recording.with_extension("http.json")
}

/// Refuses a path that holds something else than recorded replies of models.
pub fn check_recording_target(path: &Path) -> Result<(), Stop> {
    check_target(path, |text| Recording::parse(text).is_ok())
}

/// Refuses the paths of a recording that a flow names: both must lie below one of these folders, and hold nothing
/// but recorded replies.
pub fn check_named_recording(path: &Path, folders: [&Path; 2]) -> Result<(), Stop> {
    let is_inside = |path: &Path| {
        let real = real_path(path)?;
        let below = |folder: &Path| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
        folders.into_iter().any(below).then_some(())
    };
    let hosts = hosts_recording(path);
    if is_inside(path).and(is_inside(&hosts)).is_none() {
        let stop = Stop::refused(format!("{} lies outside of the project", path.display()));
        return Err(stop.help("a test's `recording` must lie in the project"));
    }
    check_recording_target(path)?;
    check_target(&hosts, |text| matches!(stave_canon::parse(text), Ok(Value::Array(_))))
}

/// Writes what was recorded, and says whether it did. A file that has exchanges is replaced only when there are new ones
/// and nothing is missing from them: `gap` says why a replay would miss some.
pub fn keep_recording(path: &Path, recording: &Recording, gap: Option<&str>) -> Result<bool, Stop> {
    let is_empty = recording.exchanges.is_empty();
    let reason = if is_empty { Some("nothing was recorded") } else { gap };
    if let Some(reason) = reason
        && has_exchanges(path)
    {
        warn_once(&format!("{} is kept as it was: {reason}", path.display()));
        return Ok(false);
    }
    if is_empty && gap.is_some() {
        return Ok(false);
    }
    write_private(path, &recording.to_yaml())?;
    Ok(true)
}

/// Whether a file is there that has something to lose.
fn has_exchanges(path: &Path) -> bool {
    if std::fs::symlink_metadata(path).is_err() {
        return false;
    }
    let text = read_plain(path, MAX_FILE_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let is_vacant = |text: &str| {
        text.trim().is_empty() || Recording::parse(text).is_ok_and(|recording| recording.exchanges.is_empty())
    };
    !text.is_some_and(|text| is_vacant(&text))
}

fn check_target(path: &Path, is_recording: impl Fn(&str) -> bool) -> Result<(), Stop> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let text = read_plain(path, MAX_FILE_BYTES).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if text.is_some_and(|text| text.trim().is_empty() || is_recording(&text)) {
        return Ok(());
    }
    let stop = Stop::refused(format!("{} exists and is not a recording", path.display()));
    Err(stop.help("name another file, or remove this one first"))
}

/// Where a path leads with all its links followed, also when its last parts are not there yet.
fn real_path(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        let folder = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        if let Ok(real) = folder.canonicalize() {
            return Some(missing.iter().rev().fold(real, |path, part| path.join(part)));
        }
        // A part such as `..` has no name, and what it leads to is not known before its folder is there.
        missing.push(there.file_name()?.to_owned());
        there = there.parent()?;
    }
}
