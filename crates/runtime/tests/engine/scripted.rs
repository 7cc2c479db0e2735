//! The step kind of the tests: adds its inputs up, or fails, and counts how often it was executed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_runtime::{Call, Failure, FailureKind, Step, StepOutput};

#[derive(Debug, Clone, Default)]
pub(crate) struct Scripted {
    executions: Arc<Mutex<BTreeMap<String, u32>>>,
    /// How many executions are in progress, and the most there ever were.
    going_on: Arc<Mutex<(u32, u32)>>,
}

impl Scripted {
    /// How often each node was executed.
    pub(crate) fn executions(&self) -> BTreeMap<String, u32> {
        self.executions.lock().unwrap().clone()
    }

    /// The most executions that went on at once.
    pub(crate) fn at_once(&self) -> u32 {
        self.going_on.lock().unwrap().1
    }
}

#[async_trait]
impl Step for Scripted {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        *self.executions.lock().unwrap().entry(call.node.id.clone()).or_default() += 1;
        {
            let mut going_on = self.going_on.lock().unwrap();
            going_on.0 += 1;
            going_on.1 = going_on.1.max(going_on.0);
        }
        let number = |key: &str| call.with.get(key).and_then(Value::as_i64);
        for _ in 0..number("yields").unwrap_or_default() {
            tokio::task::yield_now().await;
        }
        if let Some(state) = call.state {
            let count =
                state.get("count").await.unwrap().and_then(|count| count.as_i64()).unwrap_or_default();
            state.set("count".to_owned(), (count + 1).into());
        }
        self.going_on.lock().unwrap().0 -= 1;
        let inputs = call.inputs.values().filter_map(Value::as_i64).sum();
        match result(inputs, number("plus").unwrap_or_default(), number("fails_on")) {
            None => Err(Failure::new(codes::CODE_FAILED, FailureKind::Code, "scripted to fail")),
            Some((a, b)) => {
                let mut outputs = Object::new();
                outputs.insert("a".into(), a.into());
                if let Some(b) = b {
                    outputs.insert("b".into(), b.into());
                }
                Ok(StepOutput::Ports(outputs))
            }
        }
    }
}

/// What a node gives at `a` and `b`; `None` when it fails.
pub(crate) fn result(inputs: i64, plus: i64, fails_on: Option<i64>) -> Option<(i64, Option<i64>)> {
    let sum = inputs + plus;
    if fails_on.is_some_and(|divisor| sum % divisor == 0) {
        return None;
    }
    Some((sum, (sum % 2 == 0).then_some(sum * 3)))
}
