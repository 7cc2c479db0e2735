//! The files in which cache planners keep what they learned: one for each provider and endpoint, in a state folder.
//!
//! Invariants: a file is removed only when a planner made it and nobody has it open. A folder has a bounded number of
//! them: a flow can compute the endpoint of its model, and each endpoint has a file.

use std::path::{Path, PathBuf};

use stave_block::{PlannerStore, StoreError, StoreLimits};
use stave_request::planning::is_planner_file;
use stave_stores::SqlitePlannerStore;

use crate::files;

/// The most files in one folder. A further one takes the place of the one that learned nothing for the longest time.
const MOST_FILES: usize = 64;

/// Opens the file in which a cache planner keeps what it learned. It is its owner's alone, and never a link.
pub(crate) fn open(path: &Path) -> Result<Box<dyn PlannerStore>, StoreError> {
    if let Some(folder) = path.parent().filter(|_| !path.exists()) {
        make_room(folder, MOST_FILES - 1);
    }
    files::prepare_database(path)
        .map_err(|stop| StoreError::new("the cache planner's file", stop.message))?;
    SqlitePlannerStore::open_boxed(path)
}

/// The files in a folder whose planners learned nothing for so long that all of it counts as forgotten: those of flows,
/// endpoints and upstreams that are gone. `now` is in seconds since 1970.
#[must_use]
pub fn expired(folder: &Path, now: f64) -> Vec<PathBuf> {
    let oldest = now - StoreLimits::default().belief_seconds;
    let files = planner_files(folder).into_iter();
    files.filter(|(learned, _)| *learned < oldest).map(|(_, file)| file).collect()
}

/// Removes these files, apart from those that somebody has open; gives those that are gone.
#[must_use]
pub fn remove(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let unused = files.into_iter().filter(|file| SqlitePlannerStore::is_unused(file));
    unused.filter(|file| std::fs::remove_file(file).is_ok()).collect()
}

/// Removes the files that learned nothing for the longest time, until there are so many.
fn make_room(folder: &Path, most: usize) {
    let files = planner_files(folder);
    let surplus = files.len().saturating_sub(most);
    // One that is in use stays, and the next one goes in its place.
    let unused = files.into_iter().filter(|(_, file)| SqlitePlannerStore::is_unused(file)).take(surplus);
    for (_, file) in unused {
        // A file that stays takes space and harms nobody.
        let _ = std::fs::remove_file(file);
    }
}

/// The planners' files of a folder, with when each learned something last; the oldest first.
fn planner_files(folder: &Path) -> Vec<(f64, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        is_file && entry.file_name().to_str().is_some_and(is_planner_file)
    });
    let paths = named.map(|entry| entry.path());
    let mut files: Vec<(f64, PathBuf)> =
        paths.filter_map(|path| Some((SqlitePlannerStore::last_learned(&path)?, path))).collect();
    files.sort_by(|left, right| left.0.total_cmp(&right.0).then_with(|| left.1.cmp(&right.1)));
    files
}

#[cfg(test)]
mod tests {
    use stave_block::{LayerRecord, PlannerMemory};

    use super::*;

    const NOW: f64 = 1_800_000_000.0;

    fn learned(folder: &Path, name: &str, at: f64) -> PathBuf {
        let path = folder.join(name);
        let layer = LayerRecord { profile: 1, code: 1, last_seen: at, counts: [1.0; 5] };
        let memory = PlannerMemory { layers: vec![layer], ..PlannerMemory::default() };
        SqlitePlannerStore::open(&path).unwrap().record(&memory).unwrap();
        path
    }

    #[test]
    fn files_that_learned_nothing_for_a_week_go_unless_somebody_has_them_open_or_no_planner_made_them() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let day = 24.0 * 3600.0;
        let old = learned(folder, "planner-old.sqlite", NOW - 8.0 * day);
        let young = learned(folder, "planner-young.sqlite", NOW - 6.0 * day);
        let used = learned(folder, "planner-used.sqlite", NOW - 8.0 * day);
        let _open = SqlitePlannerStore::open(&used).unwrap();
        let foreign = folder.join("planner-foreign.sqlite");
        drop(stave_runtime::database::Database::open(&foreign, "somebody").unwrap());
        let text = folder.join("planner-text.sqlite");
        std::fs::write(&text, "no database").unwrap();
        let elsewhere = learned(folder, "other.sqlite", NOW - 8.0 * day);
        assert_eq!(remove(expired(folder, NOW)), std::slice::from_ref(&old));
        assert!(!old.exists());
        for stays in [young, used, foreign, text, elsewhere] {
            assert!(stays.exists(), "{}", stays.display());
        }
    }

    #[test]
    fn a_further_file_takes_the_place_of_the_one_that_learned_nothing_for_the_longest_time() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let files: Vec<PathBuf> = (0..4)
            .map(|index| learned(folder, &format!("planner-{index}.sqlite"), NOW + f64::from(index)))
            .collect();
        let _open = SqlitePlannerStore::open(&files[0]).unwrap();
        make_room(folder, 2);
        let left: Vec<bool> = files.iter().map(|file| file.exists()).collect();
        assert_eq!(left, [true, false, false, true]);
    }
}
