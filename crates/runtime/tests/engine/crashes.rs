//! A run that is stopped at each moment at which it writes something down, and resumed: the outcome is that
//! of a run that nothing stopped, and only steps without a result are done again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use stave_canon::{Timestamp, Value};
use stave_exec::Document;
use stave_runtime::database::Database;
use stave_runtime::journal::{JournalError, Runs, SqliteJournal};
use stave_runtime::state::{RecordKey, SqliteStore, StateStore};
use stave_runtime::{EmbeddedEngine, Engine, RunReport, Status};
use stave_script::PythonPool;

use crate::against_reference::request;
use crate::graph::{SCRIPTED, Sketch, sketches};
use crate::scripted::Scripted;
use crate::world::{Crashing, python, services};

/// How many graphs are stopped at each of their moments.
const GRAPHS: usize = 12;

/// More operations than any of the graphs needs.
const NEVER: i64 = 1_000;

const RUN: &str = "run_1";

/// What a run leaves behind.
#[derive(Debug, PartialEq)]
struct Left {
    result: Result<Value, String>,
    statuses: Vec<(String, Status)>,
    /// How often each node counted in the state of the session.
    counted: Vec<i64>,
}

struct Trial<'t> {
    pool: &'t Arc<PythonPool>,
    sketch: &'t Sketch,
    document: Arc<Document>,
    path: &'t Path,
    scripted: Scripted,
}

impl Trial<'_> {
    /// An engine whose journal stops after some operations.
    fn engine(&self, owner: &str, after: i64, done: bool) -> (EmbeddedEngine, Arc<Crashing<SqliteJournal>>) {
        let database = Database::open(self.path, owner).unwrap();
        let journal = Arc::new(Crashing::new(SqliteJournal::new(Arc::clone(&database)), after, done));
        let services = services(self.pool, Arc::new(SqliteStore::new(database)), Arc::clone(&journal) as _);
        (EmbeddedEngine::new(services).with_step(SCRIPTED, Arc::new(self.scripted.clone())), journal)
    }

    async fn left(&self, report: &RunReport) -> Left {
        let store = SqliteStore::new(Database::open(self.path, "reader").unwrap());
        let mut counted = Vec::new();
        for number in 0..self.sketch.nodes.len() {
            let key = RecordKey::new("random", "session", "s", &format!("n{number}"));
            let record = store.load(&key, Timestamp::from_second(1_767_225_600).unwrap()).await.unwrap();
            counted.push(record.fields.get("count").and_then(Value::as_i64).unwrap_or_default());
        }
        Left {
            result: report.result.clone().map_err(|failed| failed.failure.to_string()),
            statuses: report.nodes.iter().map(|node| (node.id.clone(), node.status)).collect(),
            counted,
        }
    }
}

fn graphs() -> Vec<Sketch> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..GRAPHS).map(|_| sketches().new_tree(&mut runner).unwrap().current()).collect()
}

#[tokio::test]
async fn a_run_that_is_stopped_anywhere_ends_as_if_nothing_had_happened() {
    let pool = python();
    let mut moments = 0;
    for sketch in graphs() {
        let document = Arc::new(sketch.document());
        let undisturbed = tempfile::tempdir().unwrap();
        let trial = Trial {
            pool: &pool,
            sketch: &sketch,
            document: Arc::clone(&document),
            path: &undisturbed.path().join("stave.sqlite"),
            scripted: Scripted::default(),
        };
        let (engine, journal) = trial.engine("first", NEVER, false);
        let report = engine.start(RUN, document, &request(4)).await.unwrap();
        let operations = NEVER - journal.left();
        drop((engine, journal));
        let wanted = trial.left(&report).await;
        for after in 0..operations {
            for done in [false, true] {
                moments += 1;
                crash(&pool, &sketch, after, done, &wanted).await;
            }
        }
    }
    pool.shutdown().await;
    assert!(moments > 50, "only {moments} moments");
}

async fn crash(pool: &Arc<PythonPool>, sketch: &Sketch, after: i64, done: bool, wanted: &Left) {
    let folder = tempfile::tempdir().unwrap();
    let trial = Trial {
        pool,
        sketch,
        document: Arc::new(sketch.document()),
        path: &folder.path().join("stave.sqlite"),
        scripted: Scripted::default(),
    };
    let (engine, journal) = trial.engine("first", after, done);
    let stopped = engine.start(RUN, Arc::clone(&trial.document), &request(4)).await;
    if let Ok(report) = &stopped {
        // How much a failing run writes down depends on what was under way beside the failure, so it may
        // end before this moment comes. A run that succeeds always writes the same.
        assert!(wanted.result.is_err(), "the journal stopped after {after} operations, and the run did not");
        assert!(report.result.is_err(), "a run that fails undisturbed succeeded");
        return;
    }
    drop((engine, journal));
    let before = trial.scripted.executions();
    let known: Vec<String> = {
        let journal = SqliteJournal::new(Database::open(trial.path, "looker").unwrap());
        match journal.show(RUN).await {
            Ok(run) => run.steps.into_iter().map(|step| step.node).collect(),
            Err(_) => Vec::new(),
        }
    };
    let (engine, journal) = trial.engine("second", NEVER, false);
    let report = match engine.resume(RUN, None).await {
        Ok(report) => report,
        // The beginning was not written down, so nothing has happened; or the end was, so all of it has.
        Err(JournalError::UnknownRun(_)) => {
            assert_eq!(before, BTreeMap::new());
            engine.start(RUN, Arc::clone(&trial.document), &request(4)).await.unwrap()
        }
        Err(JournalError::Ended { .. }) => {
            let journal = SqliteJournal::new(Database::open(trial.path, "looker").unwrap());
            journal.show(RUN).await.unwrap().report()
        }
        Err(error) => panic!("{error}"),
    };
    drop((engine, journal));
    let executions = trial.scripted.executions();
    for node in known {
        assert_eq!(before.get(&node), executions.get(&node), "{node} had a result and was done again");
    }
    let mut left = trial.left(&report).await;
    let place = format!("after {after} operations, {done}");
    if wanted.result.is_err() {
        // What was under way beside a failure may be cancelled instead; its state is then not counted.
        left.statuses.clone_from(&wanted.statuses);
        left.counted.clone_from(&wanted.counted);
        left.result = left.result.map_err(|_| wanted.result.clone().unwrap_err());
    }
    // The request's own node is not written down, so a run that is only looked at does not show it.
    let wanted_statuses: Vec<_> =
        wanted.statuses.iter().filter(|(node, _)| !node.starts_with('_')).cloned().collect();
    assert_eq!(left.result, wanted.result, "{place}");
    left.statuses.retain(|(node, _)| !node.starts_with('_'));
    assert_eq!(left.statuses, wanted_statuses, "{place}");
    assert_eq!(left.counted, wanted.counted, "{place}");
}
