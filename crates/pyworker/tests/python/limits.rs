//! Code that would take everything gets a clean error, and its neighbours do not notice.

use std::time::Duration;

use crate::support::{job, pool, returning};
use stave_canon::Value;
use stave_script::{JobLimits, Limit, ScriptError};

fn limits() -> JobLimits {
    JobLimits { compute: Duration::from_millis(500), wall: Duration::from_secs(20), ..JobLimits::DEFAULT }
}

/// Runs `code` beside a well-behaved transform in a second worker, which must finish.
async fn beside_a_neighbour(code: String) -> ScriptError {
    let pool = pool(2);
    let limits = limits();
    let greedy = pool.transform(job(&code), None, &limits);
    let neighbour = async {
        for round in 0..5 {
            let output = pool.transform(returning("sum(range(1000))"), None, &JobLimits::DEFAULT).await;
            assert_eq!(output.unwrap().value, Value::from(499_500), "round {round}");
        }
    };
    let (outcome, ()) = tokio::join!(greedy, neighbour);
    // The pool is whole afterwards.
    let after = pool.transform(returning("1 + 1"), None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(after.value, Value::from(2));
    outcome.unwrap_err()
}

#[track_caller]
fn assert_limit(error: &ScriptError, expected: Limit) {
    match error {
        ScriptError::LimitExceeded { limit, .. } => assert_eq!(*limit, expected, "{error}"),
        other => panic!("{other:?}"),
    }
}

fn body(statement: &str) -> String {
    format!("def transform(inputs, context, state):\n    {statement}\n")
}

#[tokio::test]
async fn a_power_tower_meets_the_memory_limit() {
    assert_limit(&beside_a_neighbour(body("return 10**10**10")).await, Limit::Memory);
}

#[tokio::test]
async fn a_text_of_a_terabyte_meets_the_memory_limit() {
    assert_limit(&beside_a_neighbour(body("return 'a'*10**12")).await, Limit::Memory);
}

#[tokio::test]
async fn a_doubling_list_meets_the_memory_limit() {
    let code = "def transform(inputs, context, state):\n    x = [0]\n    while True:\n        x = x + x\n";
    assert_limit(&beside_a_neighbour(code.to_owned()).await, Limit::Memory);
}

#[tokio::test]
async fn an_endless_loop_meets_the_time_limit() {
    let error = beside_a_neighbour(body("while True: pass")).await;
    assert_limit(&error, Limit::Time);
}

#[tokio::test]
async fn one_operation_that_takes_too_long_meets_the_time_limit() {
    // The interpreter looks at its clock between operations, and each of these is a single one. They are so large that
    // no machine computes them within the bound.
    for statement in [
        "x = int('7' * 4000)\n    for _ in range(40): x = x * x\n    return x > 0",
        "return 7 ** 60000000 > 0",
        "return pow(7 ** 200000, 7 ** 200000, 7 ** 200000 + 2)",
    ] {
        let limits = JobLimits { wall: Duration::from_secs(600), ..limits() };
        let pool = pool(1);
        match pool.transform(job(&body(statement)), None, &limits).await {
            Ok(output) => panic!("{statement}: {output:?} within the bound"),
            Err(error) => {
                assert!(matches!(error, ScriptError::LimitExceeded { .. }), "{statement}: {error:?}");
            }
        }
        let after = pool.transform(returning("1 + 1"), None, &JobLimits::DEFAULT).await.unwrap();
        assert_eq!(after.value, Value::from(2));
    }
}

#[tokio::test]
async fn endless_recursion_meets_the_recursion_limit() {
    let code = "def deeper(n):\n    return deeper(n + 1)\n\ndef transform(inputs, context, state):\n    return deeper(0)\n";
    let error = beside_a_neighbour(code.to_owned()).await;
    assert_limit(&error, Limit::Recursion);
    assert_eq!(error.range().unwrap().start.line, 2);
}

#[tokio::test]
async fn twenty_thousand_parentheses_are_a_syntax_error() {
    let nested = format!("return {}1{}", "(".repeat(20_000), ")".repeat(20_000));
    let error = beside_a_neighbour(body(&nested)).await;
    assert_eq!(error.kind(), "SyntaxError", "{error}");
}

#[tokio::test]
async fn a_hundred_thousand_operators_are_a_syntax_error() {
    let error = beside_a_neighbour(body(&format!("return 1{}", "+1".repeat(100_000)))).await;
    assert_eq!(error.kind(), "SyntaxError", "{error}");
}

#[tokio::test]
async fn a_large_result_meets_the_output_limit() {
    let limits = JobLimits { output_bytes: 1000, ..limits() };
    let outcome = pool(1).transform(returning("'a' * 2000"), None, &limits).await;
    assert_limit(&outcome.unwrap_err(), Limit::Output);
}

#[tokio::test]
async fn a_deep_result_meets_the_nesting_limit() {
    let code = "def transform(inputs, context, state):\n    x = []\n    for _ in range(300):\n        x = [x]\n    return x\n";
    let outcome = pool(1).transform(job(code), None, &limits()).await;
    assert_limit(&outcome.unwrap_err(), Limit::Depth);
}

#[tokio::test]
async fn a_result_that_contains_itself_meets_the_nesting_limit() {
    let code = "def transform(inputs, context, state):\n    x = []\n    x.append(x)\n    return x\n";
    let outcome = pool(1).transform(job(code), None, &limits()).await;
    assert_limit(&outcome.unwrap_err(), Limit::Depth);
}

#[tokio::test]
async fn printing_without_end_is_stopped() {
    let error = beside_a_neighbour(body("while True: print('x' * 10000)")).await;
    assert!(matches!(error, ScriptError::LimitExceeded { .. }), "{error:?}");
}

#[tokio::test]
async fn calling_the_host_without_end_is_stopped() {
    let mut job =
        job("def transform(inputs, context, state):\n    while True:\n        await state.get('x')\n");
    job.has_state = true;
    let memory = crate::support::Memory::default();
    let outcome = pool(1).transform(job, Some(&memory), &limits()).await;
    assert_limit(&outcome.unwrap_err(), Limit::HostCalls);
}

#[tokio::test]
async fn an_expression_meets_the_same_limits() {
    let pool = pool(1);
    for (expression, limit) in [("10**10**10", Limit::Memory), ("'a' * 10**12", Limit::Memory)] {
        let scope = crate::support::object("{}");
        let outcome = pool.evaluate(expression, vec![scope], &limits()).await;
        assert_limit(&outcome.unwrap_err(), limit);
    }
}

#[tokio::test]
async fn inputs_beyond_the_memory_limit_are_a_clean_error() {
    let pool = pool(1);
    let limits = JobLimits { memory_bytes: 2 * 1024 * 1024, ..limits() };
    let mut large = returning("len(inputs['text'])");
    large.inputs.insert("text".to_owned(), Value::from("x".repeat(8 * 1024 * 1024)));
    assert_limit(&pool.transform(large, None, &limits).await.unwrap_err(), Limit::Memory);
    let beyond_a_frame = "1".repeat(70 * 1024 * 1024);
    let scope = crate::support::object("{}");
    assert_limit(&pool.evaluate(&beyond_a_frame, vec![scope], &limits).await.unwrap_err(), Limit::Memory);
    let output = pool.transform(returning("1"), None, &limits).await.unwrap();
    assert_eq!(output.value, Value::from(1));
}
