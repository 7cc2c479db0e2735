//! `flow.output`: the response. The scheduler gathers what reaches it, so the step passes it on.

use async_trait::async_trait;
use stave_canon::Value;

use super::{Step, StepOutput};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct FlowOutput;

#[async_trait]
impl Step for FlowOutput {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        Ok(StepOutput::Whole(Value::Object(call.inputs.clone())))
    }
}
