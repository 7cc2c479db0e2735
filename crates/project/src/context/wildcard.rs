//! The files that a wildcard matches.

use std::path::{Path, PathBuf};

use stave_script::path_glob::PathPattern;

/// How many entries are looked at before the search is given up.
const MOST_ENTRIES: usize = 50_000;
/// How many files one reference may stand for.
const MOST_FILES: usize = 100;
/// How deep folders are searched.
const DEEPEST: usize = 16;

/// The matching files below a folder in the order of their paths. Hidden files are matched only by a
/// pattern that names the dot, and links to folders are not followed.
pub(super) fn matching(root: &Path, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let pattern = PathPattern::parse(pattern);
    let mut found = Vec::new();
    let mut waiting = vec![(root.to_path_buf(), Vec::<String>::new())];
    let mut seen = 0;
    while let Some((folder, names)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            seen += 1;
            if seen > MOST_ENTRIES {
                return Err(format!("more than {MOST_ENTRIES} entries would have to be searched"));
            }
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            let mut names = names.clone();
            names.push(name);
            if kind.is_dir() {
                if names.len() < DEEPEST && !names.last().is_some_and(|name| name.starts_with('.')) {
                    waiting.push((entry.path(), names));
                }
            } else if pattern.matches(&names) {
                found.push(entry.path());
                if found.len() > MOST_FILES {
                    return Err(format!("it matches more than {MOST_FILES} files"));
                }
            }
        }
    }
    found.sort();
    Ok(found)
}
