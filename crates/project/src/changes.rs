//! Waiting for files to change.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::exit::Stop;

/// How long nothing must happen before a change counts as finished: editors save in several steps.
const QUIET: Duration = Duration::from_millis(40);

/// Watches folders for as long as it lives.
#[derive(Debug)]
pub struct Changes {
    events: Receiver<notify::Result<Event>>,
    /// Keeps the system's watch open.
    _watcher: RecommendedWatcher,
}

impl Changes {
    /// Begins to watch folders, and the folders of files, since editors replace files rather than write
    /// into them.
    pub fn watch(paths: &[PathBuf]) -> Result<Changes, Stop> {
        let (sender, events) = channel();
        let fail = |error: notify::Error| Stop::internal(format!("files cannot be watched: {error}"));
        let mut watcher = notify::recommended_watcher(sender).map_err(fail)?;
        let mut folders: HashSet<(PathBuf, RecursiveMode)> = HashSet::new();
        for path in paths {
            let is_folder = path.is_dir();
            let folder = if is_folder { path.clone() } else { parent(path) };
            let mode = if is_folder { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            if folders.insert((folder.clone(), mode)) {
                watcher.watch(&folder, mode).map_err(fail)?;
            }
        }
        Ok(Changes { events, _watcher: watcher })
    }

    /// Waits until something changed and it is quiet again. False when nothing can change any more.
    pub fn wait(&self) -> bool {
        loop {
            match self.events.recv() {
                Err(_) => return false,
                Ok(event) if matters(&event) => break,
                Ok(_) => {}
            }
        }
        loop {
            match self.events.recv_timeout(QUIET) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// Reading a file changes nothing, and reading is what a check does.
fn matters(event: &notify::Result<Event>) -> bool {
    event.as_ref().is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)))
}

fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}
