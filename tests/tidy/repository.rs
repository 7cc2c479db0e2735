//! The files of the repository that the rules look at.

use std::path::{Path, PathBuf};

/// The folders whose files the project wrote; everything else at the root is configuration.
const FOLDERS: [&str; 6] = ["bench", "crates", "docs", "examples", "fuzz", "tests"];

/// The extensions of what the project's people write; data files may say what they like.
const WRITTEN_BY_US: [&str; 9] = ["rs", "md", "toml", "yaml", "yml", "ts", "tsx", "py", "sh"];

/// Folders that tools fill.
const FILLED_BY_TOOLS: [&str; 5] = ["target", "corpus", "artifacts", "node_modules", "dist"];

/// A file with its path from the root, with forward slashes.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    absolute: PathBuf,
}

impl File {
    pub(crate) fn extension(&self) -> &str {
        self.path
            .rsplit('/')
            .next()
            .and_then(|name| name.rsplit_once('.'))
            .map_or("", |(_, extension)| extension)
    }

    /// Whether people of the project wrote the file, rather than a tool or the source of some data.
    pub(crate) fn is_written_by_us(&self) -> bool {
        WRITTEN_BY_US.contains(&self.extension())
    }

    /// The text, or nothing for a file that another process has just taken away.
    pub(crate) fn text(&self) -> Option<String> {
        match std::fs::read(&self.absolute) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => panic!("{} cannot be read: {error}", self.path),
        }
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// Every file of the project's folders, in the order of their paths.
pub(crate) fn files() -> Vec<File> {
    files_below(&FOLDERS)
}

/// Every file of these folders, in the order of their paths.
pub(crate) fn files_below(folders: &[&str]) -> Vec<File> {
    let mut found = Vec::new();
    let mut waiting: Vec<(String, PathBuf)> =
        folders.iter().map(|name| ((*name).to_owned(), root().join(name))).collect();
    while let Some((path, absolute)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&absolute) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(kind) = entry.file_type() else { continue };
            if name.starts_with('.') || (kind.is_dir() && FILLED_BY_TOOLS.contains(&name.as_str())) {
                continue;
            }
            let path = format!("{path}/{name}");
            if kind.is_dir() {
                waiting.push((path, entry.path()));
            } else if kind.is_file() {
                found.push(File { path, absolute: entry.path() });
            }
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

/// The Rust files that a crate is built from: `crates/<name>/src/...`.
pub(crate) fn crate_sources() -> Vec<File> {
    let is_source = |file: &File| {
        let mut parts = file.path.split('/');
        parts.next() == Some("crates") && parts.nth(1) == Some("src") && file.extension() == "rs"
    };
    files().into_iter().filter(is_source).collect()
}

#[test]
fn the_walk_finds_this_file_and_the_crates() {
    let paths: Vec<String> = files().into_iter().map(|file| file.path).collect();
    assert!(paths.iter().any(|path| path == "tests/tidy/repository.rs"));
    let sources: Vec<String> = crate_sources().into_iter().map(|file| file.path).collect();
    assert!(sources.iter().any(|path| path == "crates/diag/src/lib.rs"));
    assert!(sources.iter().all(|path| !path.contains("/tests/tidy/") && path.ends_with(".rs")));
}
