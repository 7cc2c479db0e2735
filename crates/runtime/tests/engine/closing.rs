//! A database that is closed gives its runs back before the one who closes it goes on.

use futures_util::FutureExt;
use stave_canon::{Timestamp, Value};
use stave_runtime::database::Database;
use stave_runtime::journal::{Journal, NewRun, SqliteJournal, Times};

use crate::parallel_runs::node;

/// Often enough to meet a write that is still under way.
const ROUNDS: usize = 20;

#[tokio::test]
async fn a_write_whose_caller_has_gone_does_not_keep_a_run_from_the_next_driver() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stave.sqlite");
    let at = Timestamp::from_second(1_767_225_600).unwrap();
    for round in 0..ROUNDS {
        let id = format!("run_{round}");
        let first = SqliteJournal::new(Database::open(&path, "first").unwrap());
        let run = NewRun {
            id: id.clone(),
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
        // The write is asked for, and nobody waits for it.
        assert!(first.start(&id, at).now_or_never().is_none());
        drop((driver, first));
        let second = SqliteJournal::new(Database::open(&path, "second").unwrap());
        let (_, driver) = second.claim(&id, at).await.unwrap();
        drop((driver, second));
    }
}
