//! `dsl.emit`: the outputs of a workflow. Its arguments, references replaced, are its result.

use async_trait::async_trait;
use stave_canon::{Object, Value};

use super::{Step, StepOutput, optional_argument};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct Emit;

#[async_trait]
impl Step for Emit {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let scope = call.scope();
        let mut outputs = Object::with_capacity(call.with.len());
        for name in call.with.keys() {
            if let Some(value) = optional_argument(call, &scope, name)? {
                outputs.insert(name.clone(), value);
            }
        }
        Ok(StepOutput::Whole(Value::Object(outputs)))
    }
}
