//! SQLite files that say which tables they have, by a version that grows by one with every change.
//!
//! Invariant: a file has the tables of one version, as a whole, however many processes open it at the same time and
//! wherever one of them dies.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unprepared {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("the file has version {found}, and this program knows versions up to {known}")]
    Version { found: i64, known: i64 },
}

/// Makes the tables of an empty file, brings an older file up to date, and refuses a file of a later version.
/// The first script makes version 1, and each further one the next version.
pub fn prepare(connection: &Connection, scripts: &[&str]) -> Result<(), Unprepared> {
    let known = scripts.len() as i64;
    if version(connection)? == known {
        return Ok(());
    }
    // Two processes may find an empty file at the same time; the second one looks again under the lock.
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    let missing = usize::try_from(found).ok().and_then(|found| scripts.get(found..));
    let Some(missing) = missing else { return Err(Unprepared::Version { found, known }) };
    for script in missing {
        transaction.execute_batch(script)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    Ok(transaction.commit()?)
}

/// Opens a file to read it and its log beside those that write it. Nothing is written, not even the index of the log, so
/// this works on a full disk. A log needs its index (`-shm`) beside it, though the index may be out of date.
pub fn open_read_only(path: &Path) -> Result<Connection, rusqlite::Error> {
    open_with(path, "mode=ro&readonly_shm=1")
}

/// Opens a file that nobody writes, also on a disk that is read-only: the connection takes no locks and makes no files.
/// The log must be empty, because SQLite does not read it here.
pub fn open_immutable(path: &Path) -> Result<Connection, rusqlite::Error> {
    open_with(path, "immutable=1")
}

fn open_with(path: &Path, parameters: &str) -> Result<Connection, rusqlite::Error> {
    let mut address = "file:".to_owned();
    for letter in path.to_string_lossy().chars() {
        match letter {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            letter => address.push(letter),
        }
    }
    address.push('?');
    address.push_str(parameters);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(address, flags)
}

/// The size of the log of a file.
#[must_use]
pub fn log_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Path::new(&log).metadata().map_or(0, |log| log.len())
}

/// Refuses a file whose tables are not those of this version, and that cannot be brought up to date now.
pub fn check_version(connection: &Connection, scripts: &[&str]) -> Result<(), Unprepared> {
    let (found, known) = (version(connection)?, scripts.len() as i64);
    if found == known { Ok(()) } else { Err(Unprepared::Version { found, known }) }
}

/// Gives up to so many free pages back to the file system. SQLite frees one page with each step of this statement.
pub fn free_pages(connection: &Connection, pages: u32) -> Result<(), rusqlite::Error> {
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);";
    const SECOND: &str = "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = x + 1;";

    fn row(connection: &Connection) -> (i64, i64) {
        connection.query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    #[test]
    fn an_empty_file_an_older_one_and_one_of_this_version_come_to_the_same() {
        let empty = Connection::open_in_memory().unwrap();
        prepare(&empty, &[FIRST, SECOND]).unwrap();
        let older = Connection::open_in_memory().unwrap();
        prepare(&older, &[FIRST]).unwrap();
        for connection in [empty, older] {
            for _ in 0..2 {
                prepare(&connection, &[FIRST, SECOND]).unwrap();
                assert_eq!((row(&connection), version(&connection).unwrap()), ((1, 2), 2));
            }
        }
    }

    #[test]
    fn a_later_file_and_one_of_no_version_are_refused_as_they_are() {
        for odd in [3, -1] {
            let connection = Connection::open_in_memory().unwrap();
            connection.pragma_update(None, "user_version", odd).unwrap();
            let refused = prepare(&connection, &[FIRST, SECOND]);
            assert!(matches!(refused, Err(Unprepared::Version { found, known: 2 }) if found == odd));
            assert_eq!(version(&connection).unwrap(), odd);
        }
    }

    #[test]
    fn a_script_that_fails_leaves_the_file_as_it_was() {
        let connection = Connection::open_in_memory().unwrap();
        assert!(prepare(&connection, &[FIRST, "CREATE TABLE b (y INTEGER) STRICT; no statement"]).is_err());
        assert_eq!(version(&connection).unwrap(), 0);
        prepare(&connection, &[FIRST, SECOND]).unwrap();
        assert_eq!(row(&connection), (1, 2));
    }

    #[test]
    fn all_the_pages_that_are_asked_for_are_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("file.sqlite")).unwrap();
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").unwrap();
        connection.execute_batch("CREATE TABLE a (x BLOB) STRICT").unwrap();
        for _ in 0..64 {
            connection.execute("INSERT INTO a VALUES (zeroblob(16384))", []).unwrap();
        }
        connection.execute("DELETE FROM a", []).unwrap();
        let free =
            || -> i64 { connection.pragma_query_value(None, "freelist_count", |row| row.get(0)).unwrap() };
        let before = free();
        assert!(before > 100, "{before}");
        free_pages(&connection, 50).unwrap();
        assert!(free() <= before - 50, "{before} {}", free());
        free_pages(&connection, 100_000).unwrap();
        assert_eq!(free(), 0);
    }

    #[test]
    fn a_log_is_read_without_writing_its_index() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file?#%.sqlite");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        prepare(&writer, &[FIRST, SECOND]).unwrap();
        assert!(log_bytes(&path) > 0);
        let reader = open_read_only(&path).unwrap();
        assert_eq!(row(&reader), (1, 2), "beside a writer");
        assert!(reader.execute("DELETE FROM a", []).is_err());
        // The same files as a process leaves them that is killed.
        let killed = folder.path().join("killed.sqlite");
        for part in ["", "-wal", "-shm"] {
            let name = |path: &Path| format!("{}{part}", path.display());
            std::fs::copy(name(&path), name(&killed)).unwrap();
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the test compares the bytes that another process left"
        )]
        let index = |path: &Path| std::fs::read(format!("{}-shm", path.display())).unwrap();
        let before = index(&killed);
        assert_eq!(row(&open_read_only(&killed).unwrap()), (1, 2), "after a kill");
        assert_eq!(index(&killed), before);
        drop((reader, writer));
        assert_eq!(log_bytes(&path), 0);
        assert_eq!(row(&open_immutable(&path).unwrap()), (1, 2));
    }

    #[test]
    fn many_at_once_make_the_tables_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.sqlite");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let connection = Connection::open(&path).unwrap();
                    connection.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
                    prepare(&connection, &[FIRST, SECOND]).unwrap();
                    assert_eq!(row(&connection), (1, 2));
                });
            }
        });
    }
}
