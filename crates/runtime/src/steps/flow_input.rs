//! `flow.input`: the request's fields, one output port each. A field that the request lacks stays absent.

use async_trait::async_trait;

use super::{Step, StepOutput};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct FlowInput;

#[async_trait]
impl Step for FlowInput {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        Ok(StepOutput::Ports(call.request.fields.clone()))
    }
}
