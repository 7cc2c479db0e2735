//! Many runs at once: turns of one session lose nothing, and a node keeps to its limit.

use std::sync::Arc;

use futures_util::future::join_all;
use stave_canon::{Timestamp, Value};
use stave_exec::Document;
use stave_runtime::database::Database;
use stave_runtime::journal::{Ephemeral, Journal, SqliteJournal};
use stave_runtime::state::{MemoryStore, RecordKey, SqliteStore, StateStore};
use stave_runtime::{EmbeddedEngine, Engine};

use crate::against_reference::request;
use crate::graph::{Behaviour, FromPort, SCRIPTED, Sketch, SketchEdge, SketchNode};
use crate::scripted::Scripted;
use crate::world::{python, services};

const RUNS: i64 = 24;

/// One node that lets others work in between. It counts in its session, or it has a limit (`Some(None)`: none) and keeps no
/// state, because steps on one record take turns.
pub(crate) fn node(limit: Option<Option<u32>>) -> Arc<Document> {
    let concurrency = limit.flatten();
    let behaviour = Behaviour { plus: 0, fails_on: None, yields: 3 };
    let edge = |from, to| SketchEdge { from, from_port: FromPort::A, to, condition: None };
    let sketch = Sketch {
        nodes: vec![SketchNode { ports: vec![false], behaviour, counts: limit.is_none(), concurrency }],
        edges: vec![edge(None, Some((0, 0))), edge(Some(0), None)],
    };
    Arc::new(sketch.document())
}

async fn run_all(
    state: Arc<dyn StateStore>,
    journal: Arc<dyn Journal>,
    limit: Option<Option<u32>>,
) -> (Scripted, i64) {
    let (pool, scripted) = (python(), Scripted::default());
    let engine = EmbeddedEngine::new(services(&pool, Arc::clone(&state), journal))
        .with_step(SCRIPTED, Arc::new(scripted.clone()));
    let document = node(limit);
    let request = request(4);
    let runs = (0..RUNS).map(|_| engine.run(Arc::clone(&document), &request));
    for report in join_all(runs).await {
        assert!(report.unwrap().result.is_ok());
    }
    pool.shutdown().await;
    let key = RecordKey::new("random", "session", "s", "n0");
    let record = state.load(&key, Timestamp::from_second(1_767_225_600).unwrap()).await.unwrap();
    (scripted, record.fields.get("count").and_then(Value::as_i64).unwrap_or_default())
}

#[tokio::test]
async fn parallel_turns_of_one_session_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("stave.sqlite"), "one").unwrap();
    let sqlite = Arc::new(SqliteStore::new(Arc::clone(&database)));
    let (_, counted) = run_all(sqlite, Arc::new(SqliteJournal::new(database)), None).await;
    assert_eq!(counted, RUNS, "in one transaction with the results");
    let (_, counted) = run_all(Arc::new(MemoryStore::new()), Arc::new(Ephemeral), None).await;
    assert_eq!(counted, RUNS, "in memory");
}

#[tokio::test]
async fn a_node_keeps_to_its_limit_over_all_runs() {
    let (free, _) = run_all(Arc::new(MemoryStore::new()), Arc::new(Ephemeral), Some(None)).await;
    assert!(free.at_once() > 2, "without a limit {} went on at once", free.at_once());
    let (limited, _) = run_all(Arc::new(MemoryStore::new()), Arc::new(Ephemeral), Some(Some(2))).await;
    assert_eq!(limited.at_once(), 2);
}
