//! Reads one file within a time, so that a file that takes long does not keep the others from being served.
//!
//! Invariants: a reading whose time is over continues in its own thread, and its result is not used. While it does, the same
//! file is not read again, unless it has changed, and then only so often.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use super::not_served::NotServed;
use crate::exit::Stop;
use crate::files;

/// How long one file may take. Large flows take a small part of it, also on a busy machine.
const READING_TIME: Duration = Duration::from_secs(30);
/// How many versions of one file may be at work when their time is over.
const MOST_LATE: usize = 2;
/// As much as the main thread has: documents have a bound on their depth, and it fits into this.
const STACK_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct FileReader {
    limit: Duration,
    /// By file, the readings whose time was over. The thread of a reading holds the other half.
    late: HashMap<PathBuf, Vec<LateReading>>,
}

#[derive(Debug)]
struct LateReading {
    version: FileVersion,
    at_work: Weak<()>,
}

/// Tells a changed file from one that is the same.
type FileVersion = Option<(SystemTime, u64)>;

impl Default for FileReader {
    fn default() -> Self {
        FileReader { limit: READING_TIME, late: HashMap::new() }
    }
}

impl FileReader {
    /// What comes of reading a file, within the time.
    pub(super) fn read<T: Send + 'static>(
        &mut self,
        file: &Path,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotServed> {
        let version = version_of(file);
        let late = self.late.entry(file.to_owned()).or_default();
        late.retain(|reading| reading.at_work.strong_count() > 0);
        if late.len() >= MOST_LATE || late.iter().any(|reading| reading.version == version) {
            return Err(too_slow(file, self.limit));
        }
        let holds = Arc::new(());
        let at_work = Arc::downgrade(&holds);
        let (sender, answer) = sync_channel(1);
        let thread = std::thread::Builder::new().name("flow-file".to_owned()).stack_size(STACK_BYTES);
        let thread = thread.spawn(move || {
            let _holds = holds;
            // Nobody is there to take it when the time is over.
            let _ = sender.send(read());
        });
        thread.map_err(|error| Stop::internal(format!("{}: {error}", files::shown(file).display())))?;
        match answer.recv_timeout(self.limit) {
            Ok(found) => Ok(found),
            Err(RecvTimeoutError::Timeout) => {
                late.push(LateReading { version, at_work });
                Err(too_slow(file, self.limit))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let message =
                    format!("{}: an internal error: the file was not read", files::shown(file).display());
                Err(Stop::internal(message).into())
            }
        }
    }
}

fn version_of(file: &Path) -> FileVersion {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

fn too_slow(file: &Path, limit: Duration) -> NotServed {
    let message = format!(
        "{}: reading the flow took longer than {} s and was ended",
        files::shown(file).display(),
        limit.as_secs()
    );
    Stop::invalid(message).help("make the flow smaller, and save it or send SIGHUP to read it again").into()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn reader() -> FileReader {
        FileReader { limit: Duration::from_millis(20), late: HashMap::new() }
    }

    #[test]
    fn a_file_that_takes_long_is_given_up_and_others_are_read() {
        let mut reader = reader();
        let (release, released) = channel::<()>();
        let slow = Path::new("flows/slow.yaml");
        let given_up = reader.read(slow, move || released.recv().is_ok()).unwrap_err();
        assert!(
            given_up.stop.to_string().contains("slow.yaml: reading the flow took longer"),
            "{given_up:?}"
        );
        assert!(!given_up.is_of_server);
        let other = FileReader { limit: Duration::from_secs(60), ..reader };
        reader = other;
        assert_eq!(reader.read(Path::new("flows/other.yaml"), || 7).unwrap(), 7);
        // The same file is not read again while the first reading is at work.
        assert!(reader.read(slow, || true).is_err());
        release.send(()).unwrap();
        while reader.late.values().flatten().any(|reading| reading.at_work.strong_count() > 0) {
            std::thread::yield_now();
        }
        assert!(reader.read(slow, || true).unwrap());
    }

    #[test]
    fn a_reading_that_panics_is_a_file_that_is_not_served() {
        let mut reader = FileReader::default();
        let failed =
            reader.read(Path::new("flows/odd.yaml"), || assert!(version_of(Path::new(".")).is_none()));
        assert!(failed.unwrap_err().stop.to_string().contains("odd.yaml"));
    }
}
