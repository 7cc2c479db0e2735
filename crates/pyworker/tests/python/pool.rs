//! Workers come, go and are replaced.

use std::time::Duration;

use crate::support::{job, pool, returning};
use stave_canon::Value;
use stave_script::{
    JobLimits, Limit, PoolOptions, PythonPool, ScriptError, StateHost, StateHostError, WorkerCommand,
};

fn endless() -> stave_script::TransformJob {
    job("def transform(inputs, context, state):\n    while True: pass\n")
}

/// Children of this process that have ended and were not waited for.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the process table is a file system here")]
fn zombies() -> usize {
    let own = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok())
        .filter(|stat| {
            let rest = stat.rsplit(')').next().unwrap_or_default();
            let mut fields = rest.split_whitespace();
            fields.next() == Some("Z") && fields.next() == Some(own.as_str())
        })
        .count()
}

#[tokio::test]
async fn a_worker_that_does_not_answer_in_time_is_killed_and_replaced() {
    let pool = pool(1);
    let limits = JobLimits {
        wall: Duration::from_millis(200),
        compute: Duration::from_secs(60),
        ..JobLimits::DEFAULT
    };
    let error = pool.transform(endless(), None, &limits).await.unwrap_err();
    assert!(matches!(error, ScriptError::LimitExceeded { limit: Limit::Time, .. }), "{error:?}");
    let output = pool.transform(returning("'alive'"), None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(output.value, Value::from("alive"));
    #[cfg(target_os = "linux")]
    assert_eq!(zombies(), 0);
}

#[tokio::test]
async fn a_dropped_call_takes_its_worker_with_it() {
    let pool = pool(1);
    let limits =
        JobLimits { compute: Duration::from_secs(60), wall: Duration::from_secs(60), ..JobLimits::DEFAULT };
    let cancelled =
        tokio::time::timeout(Duration::from_millis(200), pool.transform(endless(), None, &limits)).await;
    assert!(cancelled.is_err());
    let output = pool.transform(returning("2"), None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(output.value, Value::from(2));
    pool.shutdown().await;
    #[cfg(target_os = "linux")]
    for attempt in 0.. {
        if zombies() == 0 {
            break;
        }
        assert!(attempt < 100, "the dropped worker was never waited for");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn more_calls_than_workers_wait_their_turn() {
    let pool = pool(2);
    let mut calls = tokio::task::JoinSet::new();
    let pool = std::sync::Arc::new(pool);
    for number in 0..20_i64 {
        let pool = std::sync::Arc::clone(&pool);
        calls.spawn(async move {
            let output = pool.transform(returning(&format!("{number} * 2")), None, &JobLimits::DEFAULT).await;
            (number, output.unwrap().value)
        });
    }
    while let Some(done) = calls.join_next().await {
        let (number, value) = done.unwrap();
        assert_eq!(value, Value::from(number * 2));
    }
}

#[tokio::test]
async fn a_slow_store_counts_towards_the_wall_clock() {
    struct Slow;
    #[async_trait::async_trait]
    impl StateHost for Slow {
        async fn get(&self, _: &str) -> Result<Option<Value>, StateHostError> {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(None)
        }
        async fn set(&self, _: &str, _: Value) -> Result<(), StateHostError> {
            Ok(())
        }
        async fn delete(&self, _: &str) -> Result<(), StateHostError> {
            Ok(())
        }
    }
    let mut waiting = returning("await state.get('x')");
    waiting.has_state = true;
    let limits = JobLimits { wall: Duration::from_millis(200), ..JobLimits::DEFAULT };
    let error = pool(1).transform(waiting, Some(&Slow), &limits).await.unwrap_err();
    assert!(matches!(error, ScriptError::LimitExceeded { limit: Limit::Time, .. }), "{error:?}");
}

#[tokio::test]
async fn a_pool_that_is_shut_down_says_so() {
    let pool = pool(1);
    pool.transform(returning("1"), None, &JobLimits::DEFAULT).await.unwrap();
    pool.shutdown().await;
    let error = pool.transform(returning("1"), None, &JobLimits::DEFAULT).await.unwrap_err();
    assert_eq!(error, ScriptError::Closed);
}

#[tokio::test]
async fn a_program_that_is_not_a_worker_is_a_clean_error() {
    for program in ["/nonexistent/worker", "/bin/true", "/bin/cat"] {
        let command = WorkerCommand { program: program.into(), arguments: Vec::new() };
        let pool = PythonPool::new(PoolOptions { command, size: 1 });
        let limits = JobLimits { wall: Duration::from_secs(5), ..JobLimits::DEFAULT };
        let error = pool.transform(returning("1"), None, &limits).await.unwrap_err();
        assert!(matches!(error, ScriptError::Worker(_)), "{program}: {error:?}");
    }
}

#[tokio::test]
async fn a_worker_does_thousands_of_jobs_without_filling_up() {
    let pool = pool(1);
    let limits = JobLimits { memory_bytes: 2 * 1024 * 1024, ..JobLimits::DEFAULT };
    for number in 0..2_000_i64 {
        let expression = format!("sum(len(str(i)) for i in range({})) * 0 + {number}", number % 50);
        let output = pool.transform(returning(&expression), None, &limits).await.unwrap();
        assert_eq!(output.value, Value::from(number));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_worker_that_ended_while_idle_is_replaced_unnoticed() {
    let worker = env!("CARGO_BIN_EXE_stave-py-worker-test");
    let arguments = ["-c", "exec timeout 3 \"$0\"", worker].map(Into::into).to_vec();
    let command = WorkerCommand { program: "/bin/sh".into(), arguments };
    let pool = PythonPool::new(PoolOptions { command, size: 1 });
    for round in 0..2_i64 {
        let output = pool.transform(returning(&round.to_string()), None, &JobLimits::DEFAULT).await.unwrap();
        assert_eq!(output.value, Value::from(round));
        tokio::time::sleep(Duration::from_millis(3300)).await;
    }
}
