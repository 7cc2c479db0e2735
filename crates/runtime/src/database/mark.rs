//! How many commits the database has had, kept beside it, so that a lost log is noticed.
//!
//! SQLite takes a write-ahead log that was deleted or cut off for one that had no more to say, and the database is then
//! an older one. So every transaction counts itself in the database, and the count is also written to a small file
//! after the commit. A database that counts less than its file has lost commits: its log was deleted or cut off, or an
//! older copy of the database was put in its place.
//!
//! The file is not synchronised, so a commit costs no more than before. A power loss can leave it behind the database,
//! which hides a loss of the very last commits and never reports one that did not happen. A database that is copied or
//! deleted together with the file, or without any file, is not noticed.
//!
//! Invariant: the file never says more than what was committed.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

/// The count, and its complement, which shows that it was written as a whole.
const DIGITS: usize = 16;

/// The file beside a database.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    file: Option<File>,
}

impl Mark {
    pub(super) fn of(database: &Path) -> Mark {
        let mut name = database.as_os_str().to_owned();
        name.push("-commits");
        Mark { path: PathBuf::from(name), file: None }
    }

    /// The count that the file has. To be read before the database is: commits of others may come in between.
    pub(super) fn read(&self) -> Option<i64> {
        let mut file = OpenOptions::new().read(true).open(&self.path).ok()?;
        read(&mut file)
    }

    /// A database that is about to be made has no commits, whatever was here before it. A database that lost all of
    /// its log still has its first page.
    pub(super) fn forget_if_new(&self, database: &Path) {
        if std::fs::metadata(database).map_or(0, |file| file.len()) == 0 {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Writes the count after a commit. A file that cannot be written stays behind, which is no harm.
    pub(super) fn write(&mut self, count: i64) {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            self.file = options.open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return };
        // Another process may have written a later one.
        if read(file).is_some_and(|written| written >= count) {
            return;
        }
        let text = format!("{count:0DIGITS$x}{:0DIGITS$x}", !count);
        let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(text.as_bytes()));
    }
}

fn read(file: &mut File) -> Option<i64> {
    let mut text = [0; 2 * DIGITS];
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_exact(&mut text).ok()?;
    let (count, complement) = std::str::from_utf8(&text).ok()?.split_at_checked(DIGITS)?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let count = number(count)?;
    let is_whole = number(complement)? == !count;
    i64::try_from(count).ok().filter(|_| is_whole)
}

/// Counts the transaction that is open.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("UPDATE commits SET number = number + 1 RETURNING number")?
        .query_row([], |row| row.get(0))
}

/// The commits that are known to be lost, those of before included.
pub(super) fn lost(connection: &Connection, marked: Option<i64>) -> rusqlite::Result<u64> {
    let (number, lost): (i64, i64) =
        connection.query_row("SELECT number, lost FROM commits", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let missing = marked.map_or(0, |marked| marked.saturating_sub(number).max(0));
    Ok(u64::try_from(lost.saturating_add(missing)).unwrap_or_default())
}

/// Writes down what is lost, so that it is known when the count has caught up.
pub(super) fn record(connection: &Connection, marked: Option<i64>) -> rusqlite::Result<()> {
    let Some(marked) = marked else { return Ok(()) };
    connection.execute(
        "UPDATE commits SET lost = lost + (?1 - number), number = ?1 WHERE number < ?1",
        params![marked],
    )?;
    Ok(())
}

/// Marks the loss as accepted, so that it is not reported again.
pub(super) fn accept(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("UPDATE commits SET lost = 0", [])?;
    Ok(())
}
