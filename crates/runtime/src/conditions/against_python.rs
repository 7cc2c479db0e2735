//! What is decided here is what the sandbox decides, on conditions and values that are made up.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use stave_canon::{Object, Value};
use stave_script::{JobLimits, PoolOptions, PythonPool, WorkerCommand};

use super::{Condition, Names};

/// The names that conditions use, bound as an edge binds them.
#[derive(Debug, Clone)]
struct Bound {
    value: Value,
    context: Object,
}

impl Names for Bound {
    fn value(&self, name: &str) -> Option<&Value> {
        (name == "value").then_some(&self.value)
    }

    fn context(&self, field: &str) -> Option<&Value> {
        self.context.get(field)
    }
}

/// Values at the borders: of exact doubles, of kinds that compare across, of text that is not ASCII.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        prop_oneof![Just(1_i64 << 53), Just((1 << 53) + 1), Just(-(1_i64 << 53) - 1), Just(i64::MAX)]
            .prop_map(Value::from),
        prop_oneof![Just(0.0), Just(-0.0), Just(0.5), Just(1.0), Just(9_007_199_254_740_992.0), Just(1e300)]
            .prop_map(Value::from),
        prop_oneof![
            Just(""),
            Just("a"),
            Just("b"),
            Just("ab"),
            Just("é"),
            Just("𝒳"),
            Just("\u{ffff}"),
            Just("1")
        ]
        .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => scalar(),
        1 => prop::collection::vec(scalar(), 0..3).prop_map(Value::Array),
        1 => prop::collection::vec((prop_oneof![Just("k"), Just("m")], scalar()), 0..3)
            .prop_map(|pairs| pairs.into_iter().collect::<Value>()),
    ]
}

fn operand() -> impl Strategy<Value = String> {
    let literal = prop_oneof![
        (-3_i64..4).prop_map(|number| number.to_string()),
        Just("9007199254740993".to_owned()),
        Just("9007199254740992.0".to_owned()),
        Just("0.5".to_owned()),
        Just("-1.5".to_owned()),
        prop_oneof![Just("'a'"), Just("\"b\""), Just("''"), Just("'é'"), Just("'1'")].prop_map(str::to_owned),
        prop_oneof![Just("True"), Just("False"), Just("None")].prop_map(str::to_owned),
    ];
    let path = prop_oneof![
        Just("value"),
        Just("value['k']"),
        Just("value[0]"),
        Just("value[1]['k']"),
        Just("context.f"),
        Just("context.f[0]"),
        Just("context.absent"),
        Just("len(value)"),
        Just("len(context.f)"),
    ];
    prop_oneof![literal, path.prop_map(str::to_owned)]
}

fn condition() -> impl Strategy<Value = String> {
    let mark = prop_oneof![Just("<"), Just("<="), Just(">"), Just(">="), Just("=="), Just("!=")];
    let compare =
        (operand(), mark, operand()).prop_map(|(left, mark, right)| format!("{left} {mark} {right}"));
    let simple = prop_oneof![4 => compare, 1 => operand()];
    simple.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|part| format!("not {part}")),
            inner.clone().prop_map(|part| format!("({part})")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("{left} and {right}")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("{left} or {right}")),
        ]
    })
}

/// The worker that cargo builds beside the tests.
fn python() -> Arc<PythonPool> {
    let tests = std::env::current_exe().unwrap();
    let built = tests.ancestors().nth(2).unwrap().join("examples").join("python_worker");
    let program = built.with_extension(std::env::consts::EXE_EXTENSION);
    Arc::new(PythonPool::new(PoolOptions {
        command: WorkerCommand { program, arguments: Vec::new() },
        size: 1,
    }))
}

#[test]
fn what_is_decided_here_is_what_python_decides() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let python = runtime.block_on(async { python() });
    // A condition that is left to Python is no case: so many are drawn that these are decided here.
    let config =
        Config { cases: 300, max_global_rejects: 30_000, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&(condition(), value(), value()), |(text, value, field)| {
        let bound = Bound { value, context: [("f".to_owned(), field)].into_iter().collect() };
        let Some(here) = Condition::parse(&text).and_then(|condition| condition.holds(&bound)) else {
            return Err(TestCaseError::reject("left to Python"));
        };
        let mut scope = Object::new();
        scope.insert("value".to_owned(), bound.value.clone());
        scope.insert("context".to_owned(), bound.context.clone().into());
        let there = runtime.block_on(python.evaluate(&text, vec![scope], &JobLimits::DEFAULT));
        let there = there.map(|results| results.into_iter().next());
        match there {
            Ok(Some(Ok(answer))) => prop_assert_eq!(answer, Value::Bool(here), "{} on {:?}", text, bound),
            other => prop_assert!(false, "{} on {:?}: {:?}", text, bound, other),
        }
        Ok(())
    });
    runtime.block_on(python.shutdown());
    outcome.unwrap();
}
