//! The one way of reading a file that somebody else may have put there: a plain file, within a bound.
//!
//! Invariants: opening never waits for a writer and never opens a pipe, a socket or a device; no more is read
//! than the bound, whatever the file's size says. Standard input is read where a person asks for it by name:
//! `-`, `/dev/stdin`, or an open descriptor such as `/dev/fd/63`, which is how shells pass `<(command)`.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use crate::exit::Stop;

/// The largest file that is read, unless a reader sets a smaller bound.
pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Why a file is not read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("can't be read: {0}")]
    Io(#[from] io::Error),
    /// What it is instead.
    #[error("is {0}, not a file")]
    NotPlain(&'static str),
    #[error("is larger than {0} bytes")]
    TooLarge(u64),
}

impl ReadError {
    /// The error as a command reports it.
    pub fn about(&self, path: &Path) -> Stop {
        let stop = Stop::invalid(format!("{} {self}", path.display()));
        match self {
            ReadError::NotPlain("a folder") => stop,
            ReadError::NotPlain(_) => stop.help("name a regular file, or `-` to read standard input"),
            ReadError::Io(_) | ReadError::TooLarge(_) => stop,
        }
    }
}

/// Opens a plain file for reading.
pub fn open_plain(path: &Path) -> Result<File, ReadError> {
    // Opening some devices has an effect, so the file is looked at before and after.
    must_be_plain(&std::fs::metadata(path)?)?;
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use nix::fcntl::OFlag;
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits());
    }
    let file = options.open(path)?;
    must_be_plain(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of a plain file.
pub fn read_plain(path: &Path, max_bytes: u64) -> Result<Vec<u8>, ReadError> {
    bounded(open_plain(path)?, max_bytes)
}

/// The bytes of a plain file, or of standard input where a person names it.
pub(crate) fn read_named(path: &Path, max_bytes: u64) -> Result<Vec<u8>, ReadError> {
    match named_stream(path) {
        Some(Stream::Stdin) => bounded(io::stdin().lock(), max_bytes),
        Some(Stream::Descriptor) => {
            let file = File::open(path)?;
            if file.metadata()?.is_dir() {
                return Err(ReadError::NotPlain("a folder"));
            }
            bounded(file, max_bytes)
        }
        None => read_plain(path, max_bytes),
    }
}

enum Stream {
    Stdin,
    Descriptor,
}

/// The stream that a path names by its spelling. A link that leads to one is not followed.
fn named_stream(path: &Path) -> Option<Stream> {
    let text = path.to_str()?;
    if matches!(text, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
        return Some(Stream::Stdin);
    }
    let number = text.strip_prefix("/dev/fd/").or_else(|| text.strip_prefix("/proc/self/fd/"))?;
    let is_number =
        !number.is_empty() && number.len() < 10 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(Stream::Descriptor)
}

fn bounded(input: impl Read, max_bytes: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    input.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(ReadError::TooLarge(max_bytes));
    }
    Ok(bytes)
}

fn must_be_plain(metadata: &Metadata) -> Result<(), ReadError> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(ReadError::NotPlain(word(metadata)))
}

#[cfg(unix)]
fn word(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn word(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a folder" } else { "a device" }
}
