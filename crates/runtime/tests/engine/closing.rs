//! Closing a database releases its runs before the call returns.

use std::time::Duration;

use futures_util::FutureExt;
use stave_canon::{Timestamp, Value};
use stave_runtime::database::Database;
use stave_runtime::journal::{Journal, NewRun, SqliteJournal, Times};

use crate::parallel_runs::node;

/// How long another process writes while the database is closed.
const OTHER_WRITES: Duration = Duration::from_millis(300);

#[expect(
    clippy::disallowed_methods,
    reason = "the test plays another process that writes, and looks at the lock that others see"
)]
#[tokio::test]
async fn a_write_whose_caller_has_gone_does_not_keep_a_run_from_the_next_driver() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stave.sqlite");
    let at = Timestamp::from_second(1_767_225_600).unwrap();
    let first = SqliteJournal::new(Database::open(&path, "first").unwrap());
    let run = NewRun {
        id: "run_1".to_owned(),
        digest: None,
        document: node(Some(None)),
        request: Value::Null,
        had_auth: false,
        auth_digest: None,
        times: Times { arrived_at: at, started_at: at },
        replay_of: None,
        is_queued: true,
    };
    let driver = first.begin(&run).await.unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The write is asked for, cannot be done yet, and nobody waits for it.
    assert!(first.start(&run.id, at).now_or_never().is_none());
    let writing = std::thread::spawn(move || {
        std::thread::sleep(OTHER_WRITES);
        other.execute_batch("COMMIT").unwrap();
    });
    drop((driver, first));
    let lock = std::fs::File::open(folder.path().join("owners").join("first.lock"));
    assert!(lock.is_err() || lock.is_ok_and(|lock| lock.try_lock_shared().is_ok()), "the run is still owned");
    writing.join().unwrap();
    let second = SqliteJournal::new(Database::open(&path, "second").unwrap());
    second.claim(&run.id, at).await.unwrap();
}
