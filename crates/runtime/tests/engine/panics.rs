//! A step that panics quarantines its run at once: nobody resumes the run by itself and no other run is affected.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stave_runtime::database::Database;
use stave_runtime::journal::{JournalError, RunStatus, Runs, SqliteJournal};
use stave_runtime::state::MemoryStore;
use stave_runtime::{Call, EmbeddedEngine, Engine, Failure, Step, StepOutput};

use crate::against_reference::request;
use crate::graph::SCRIPTED;
use crate::parallel_runs::node;
use crate::world::{python, services};

#[derive(Debug)]
struct Panicking;

#[async_trait]
impl Step for Panicking {
    async fn execute(&self, _: &Call<'_>) -> Result<StepOutput, Failure> {
        tokio::task::yield_now().await;
        panic!("a defect of this program");
    }
}

#[tokio::test]
async fn a_run_whose_work_panics_is_quarantined_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("stave.sqlite"), "one").unwrap();
    let journal = Arc::new(SqliteJournal::new(database));
    let pool = python();
    let services = services(&pool, Arc::new(MemoryStore::new()), Arc::clone(&journal) as _);
    let engine = EmbeddedEngine::new(services).with_step(SCRIPTED, Arc::new(Panicking));
    let (driving, run_id) = (engine.clone(), engine.new_run_id());
    let (id, document) = (run_id.clone(), node(Some(None)));
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move { driving.start(&id, document, &request(4)).await.map(drop) });
    let ended = tasks.join_next().await.expect("the task is there");
    assert!(ended.is_err_and(|error| error.is_panic()));
    // The driver's last word is written behind it.
    let mut status = RunStatus::Running;
    for _ in 0..400 {
        status = journal.show(&run_id).await.unwrap().summary.status;
        if status == RunStatus::Quarantined {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(status, RunStatus::Quarantined);
    let refused = engine.take_up(&run_id, None).await.map(drop);
    assert!(matches!(refused, Err(JournalError::Quarantined(_))), "{refused:?}");
    pool.shutdown().await;
}
