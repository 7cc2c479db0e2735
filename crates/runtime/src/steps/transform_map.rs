//! `transform.map`: what an expression over `item` and `index` makes of each item of a list.

use async_trait::async_trait;
use stave_canon::Value;

use super::{Step, StepOutput, list_argument, literal_text};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct Map;

#[async_trait]
impl Step for Map {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let items = list_argument(call, "input")?;
        let mapped = call.evaluate_each(literal_text(call, "expression")?, &items).await?;
        Ok(StepOutput::Whole(Value::Array(mapped)))
    }
}
