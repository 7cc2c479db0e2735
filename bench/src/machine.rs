//! The machine a run is made on: what is found on it, and how busy it is.

use std::fs;
use std::path::{Path, PathBuf};

/// What peers and workers are started from.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The Python that runs the peers: the one of `peers.sh` when it is there.
    pub(crate) python: PathBuf,
    /// Where this program and those built with it lie.
    pub(crate) programs: PathBuf,
    pub(crate) processors: usize,
}

impl Machine {
    pub(crate) fn look() -> Machine {
        // Without a path of its own the program finds no peers, and the rows say so.
        let programs = std::env::current_exe().ok();
        let programs = programs.as_deref().and_then(Path::parent).unwrap_or(Path::new(".")).to_owned();
        let installed = programs.parent().map(|target| target.join("bench-peers/bin/python"));
        let python = installed.filter(|python| python.is_file()).unwrap_or_else(|| PathBuf::from("python3"));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Machine { python, programs, processors }
    }

    /// Where `peers.sh` puts what it installs.
    pub(crate) fn peers(&self) -> PathBuf {
        self.programs.parent().unwrap_or(Path::new(".")).join("bench-peers")
    }
}

/// The load averages of the last one, five and fifteen minutes, where the system reports them.
pub(crate) fn load() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    Some(text.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
}
