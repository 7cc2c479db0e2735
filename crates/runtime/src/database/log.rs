//! The write-ahead log, made long enough once, so that commits overwrite bytes that the disk already has.
//!
//! A commit that lengthens a file waits for the file system to write down the new length and the new blocks;
//! one that overwrites waits for its bytes alone, which takes a fraction of the time. SQLite begins the log anew
//! from its start after each checkpoint and never shortens it while it is open.
//!
//! Invariant: the log is only ever lengthened, at its end, and only by the holder of the write lock. What lies
//! behind the last frame is no frame to SQLite, since its checksum and salt do not fit.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// After how many pages SQLite copies the log into the database and begins it anew.
pub(super) const CHECKPOINT_PAGES: u32 = 2000;

/// A page of the database, and the head of its frame.
const FRAME_BYTES: u64 = 4096 + 24;

/// The log's length: that of a checkpoint, and room for a transaction that is larger than usual.
const LENGTH: u64 = (CHECKPOINT_PAGES as u64 + 128) * FRAME_BYTES;

/// A process that writes less than this is done before a longer log pays.
const COMMITS_BEFORE: u32 = 16;

/// Lengthens the log of one database, at most once.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    commits: u32,
}

impl Log {
    pub(super) fn of(database: &Path) -> Log {
        let mut name = database.as_os_str().to_owned();
        name.push("-wal");
        Log { path: PathBuf::from(name), commits: 0 }
    }

    /// To be called inside a transaction that holds the write lock. What cannot be done is left: the log
    /// grows by itself then.
    pub(super) fn within_transaction(&mut self) {
        self.commits = self.commits.saturating_add(1);
        if self.commits == COMMITS_BEFORE {
            let _ = self.lengthen();
        }
    }

    fn lengthen(&self) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        let mut missing = LENGTH.saturating_sub(file.metadata()?.len());
        let zeros = [0; 64 * 1024];
        while missing > 0 {
            let count = missing.min(zeros.len() as u64) as usize;
            file.write_all(zeros.get(..count).unwrap_or_default())?;
            missing -= count as u64;
        }
        file.sync_all()
    }
}
