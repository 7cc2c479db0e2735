//! Waiting for files to change.
//!
//! Invariant: only what is read counts. A log or a database that lies among the sources changes all the time, also because of what
//! a reload writes.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::exit::Stop;
use crate::source_kind::SourceKind;

/// How long nothing must happen before a change counts as finished: editors save in several steps.
const QUIET: Duration = Duration::from_millis(40);

/// Watches folders for as long as it lives.
#[derive(Debug)]
pub struct Changes {
    /// Those that matter.
    events: Receiver<Event>,
    /// Keeps the system's watch open.
    _watcher: RecommendedWatcher,
}

/// What is read of the folders that are watched.
#[derive(Debug)]
struct Scope {
    /// What is read, and whether it is a folder of sources.
    read: Vec<(PathBuf, bool)>,
    /// Folders of which every file is read.
    whole: Vec<PathBuf>,
}

impl Changes {
    /// Begins to watch folders, and the folders of files, since editors replace files rather than write
    /// into them.
    pub fn watch(paths: &[PathBuf]) -> Result<Changes, Stop> {
        Changes::watch_whole(paths, &[])
    }

    /// The same, with folders of which every file is read, whatever its name.
    pub fn watch_whole(paths: &[PathBuf], whole: &[PathBuf]) -> Result<Changes, Stop> {
        let (sender, events) = channel();
        let fail = |error: notify::Error| Stop::internal(format!("files cannot be watched: {error}"));
        let place = |path: &PathBuf| match path.is_dir() {
            true => (canonical(path), true),
            false => (in_its_folder(path), false),
        };
        let scope = Scope {
            read: paths.iter().map(place).collect(),
            whole: whole.iter().map(|folder| canonical(folder)).collect(),
        };
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Nobody waits any more when it cannot be sent.
            if let Some(event) = event.ok().filter(|event| scope.matters(event)) {
                let _ = sender.send(event);
            }
        })
        .map_err(fail)?;
        let mut folders: HashSet<(PathBuf, RecursiveMode)> = HashSet::new();
        for path in paths.iter().chain(whole) {
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
        if self.events.recv().is_err() {
            return false;
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

impl Scope {
    /// Whether something changed that is read. Reading a file changes nothing, and reading is what a check does.
    fn matters(&self, event: &Event) -> bool {
        let is_change = !matches!(event.kind, EventKind::Access(_));
        is_change && (event.paths.is_empty() || event.paths.iter().any(|path| self.is_read(path)))
    }

    fn is_read(&self, path: &Path) -> bool {
        let path = in_its_folder(path);
        if self.whole.iter().any(|folder| path.starts_with(folder)) {
            return true;
        }
        // Mounted files are links through a folder that is exchanged as a whole.
        let is_exchanged = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".."));
        let may_be_read = is_exchanged || may_be_source(&path);
        self.read.iter().any(|(read, is_folder)| match is_folder {
            true => may_be_read && path.starts_with(read),
            // What belongs to a source lies beside it.
            false => path == *read || (may_be_read && path.parent() == read.parent()),
        })
    }
}

/// Whether a file in a folder of sources is one, or may hold some as a folder that came or went.
fn may_be_source(path: &Path) -> bool {
    let extension = path.extension();
    let is_folder = extension.is_none() && !path.is_file();
    is_folder || SourceKind::of(path).is_some() || extension.is_some_and(|it| it == "json" || it == "toml")
}

/// A path whose folder is canonical. Where the file itself leads does not count.
fn in_its_folder(path: &Path) -> PathBuf {
    let folder = canonical(&parent(path));
    path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name))
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}
