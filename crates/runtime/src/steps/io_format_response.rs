//! `io.format_response`: a template of any shape with `${…}` filled in.

use async_trait::async_trait;
use stave_canon::Value;

use super::{Step, StepOutput, argument};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct FormatResponse;

#[async_trait]
impl Step for FormatResponse {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let filled: Value = argument(call, &call.scope(), "template")?;
        Ok(StepOutput::Whole(filled))
    }
}
