//! A pool over the test worker, and a state that lives in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_script::{PoolOptions, PythonPool, StateHost, StateHostError, TransformJob, WorkerCommand};

pub(crate) fn pool(size: usize) -> PythonPool {
    let program = env!("CARGO_BIN_EXE_stave-py-worker-test").into();
    PythonPool::new(PoolOptions { command: WorkerCommand { program, arguments: Vec::new() }, size })
}

/// A JSON object from its text.
pub(crate) fn object(text: &str) -> Object {
    match stave_canon::parse(text) {
        Ok(Value::Object(object)) => object,
        other => panic!("not an object: {other:?}"),
    }
}

pub(crate) fn job(code: &str) -> TransformJob {
    TransformJob {
        code: code.to_owned(),
        inputs: Object::new(),
        context: object(r#"{"event_time": "2026-05-06T07:08:09Z"}"#),
        has_state: false,
    }
}

/// A job whose `transform` returns the value of one expression.
pub(crate) fn returning(expression: &str) -> TransformJob {
    job(&format!("def transform(inputs, context, state):\n    return {expression}\n"))
}

#[derive(Debug, Default)]
pub(crate) struct Memory(pub(crate) Mutex<BTreeMap<String, Value>>);

#[async_trait]
impl StateHost for Memory {
    async fn get(&self, key: &str) -> Result<Option<Value>, StateHostError> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    async fn set(&self, key: &str, value: Value) -> Result<(), StateHostError> {
        self.0.lock().unwrap().insert(key.to_owned(), value);
        Ok(())
    }

    async fn delete(&self, key: &str) -> Result<(), StateHostError> {
        self.0.lock().unwrap().remove(key);
        Ok(())
    }
}
