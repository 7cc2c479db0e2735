//! The engine and the plain interpreter agree on random graphs.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use stave_canon::{Object, Value};
use stave_runtime::journal::Ephemeral;
use stave_runtime::state::MemoryStore;
use stave_runtime::{EmbeddedEngine, Engine, RunReport, Status};

use crate::graph::{SCRIPTED, Sketch, node_id, sketches};
use crate::reference::{Fate, Meaning};
use crate::scripted::Scripted;
use crate::world::{python, services};

pub(crate) fn request(x: i64) -> Value {
    Value::from_iter([("x", Value::from(x)), ("session_id", "s".into())])
}

/// What of a report the plain interpreter can say.
pub(crate) fn compare(sketch: &Sketch, x: i64, report: &RunReport) -> Result<(), TestCaseError> {
    let meaning = Meaning::of(sketch, x);
    let failed = meaning.failed();
    if failed.is_empty() && !meaning.request_failed {
        for (number, fate) in meaning.fates.iter().enumerate() {
            let node = report.nodes.iter().find(|node| node.id == node_id(number)).unwrap();
            let wanted = match fate {
                Fate::Ok { .. } => Status::Ok,
                Fate::Handled | Fate::Failed => Status::Error,
                Fate::Skipped => Status::Skipped,
            };
            prop_assert_eq!(node.status, wanted, "{}: {:?}", node.id, node.reason);
        }
        let fields: Object =
            meaning.response.iter().map(|(edge, value)| (format!("o{edge}"), Value::from(*value))).collect();
        match &report.result {
            Ok(output) => prop_assert_eq!(output, &Value::Object(fields)),
            Err(failed) => {
                prop_assert!(fields.is_empty(), "{}", failed.failure);
                prop_assert_eq!(failed.failure.code.0, "output-not-reached");
            }
        }
        return Ok(());
    }
    // Which of several failures comes first, and what is cancelled for it, is a matter of time. But the run
    // fails at a node that fails, and what was done gave what it always gives.
    let ended = report.result.as_ref().expect_err("a node failed and nothing handled it");
    let at = ended.node.clone().unwrap_or_default();
    let possible =
        failed.iter().any(|number| node_id(*number) == at) || (meaning.request_failed && at == "_input");
    prop_assert!(possible, "the run failed at {:?}: {}", at, ended.failure);
    for (number, fate) in meaning.fates.iter().enumerate() {
        let node = report.nodes.iter().find(|node| node.id == node_id(number)).unwrap();
        let fits = match (fate, node.status) {
            (_, Status::Cancelled) => true,
            (Fate::Ok { .. }, status) => status == Status::Ok,
            (Fate::Handled | Fate::Failed, status) => status == Status::Error,
            (Fate::Skipped, status) => status == Status::Skipped,
        };
        // What follows a failure is cancelled; the interpreter, which cancels nothing, sees other values there.
        let follows = follows_failure(sketch, number, &failed, meaning.request_failed);
        prop_assert!(fits || follows, "{} is {:?}, expected {:?}", node.id, node.status, fate);
    }
    Ok(())
}

fn follows_failure(sketch: &Sketch, number: usize, failed: &[usize], request_failed: bool) -> bool {
    let into = sketch.edges.iter().filter(|edge| edge.to.is_some_and(|(to, _)| to == number));
    into.into_iter().any(|edge| match edge.from {
        None => request_failed,
        Some(from) => failed.contains(&from) || follows_failure(sketch, from, failed, request_failed),
    })
}

#[test]
fn the_engine_does_what_the_plain_interpreter_says() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let pool = runtime.block_on(async { python() });
    let config = ProptestConfig { cases: 400, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let cases = (sketches(), 0..12_i64, 1..5_usize);
    let outcome = runner.run(&cases, |(sketch, x, parallel)| {
        let report = runtime.block_on(async {
            let mut services = services(&pool, Arc::new(MemoryStore::new()), Arc::new(Ephemeral));
            services.limits.parallel_steps = parallel;
            let engine = EmbeddedEngine::new(services).with_step(SCRIPTED, Arc::new(Scripted::default()));
            engine.run(Arc::new(sketch.document()), &request(x)).await
        });
        compare(&sketch, x, &report.expect("nothing is written down"))
    });
    runtime.block_on(pool.shutdown());
    outcome.unwrap();
}
