//! `transform.reduce`: a list folded from the left with an expression over `acc`, `item` and `index`, from
//! `initial` or else from its first item.

use async_trait::async_trait;
use stave_canon::Value;
use stave_diag::codes::run as codes;

use super::{Step, StepOutput, list_argument, literal_text, optional_argument};
use crate::{Failure, failure::FailureKind, run::Call};

#[derive(Debug)]
pub(super) struct Reduce;

#[async_trait]
impl Step for Reduce {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let mut items = list_argument(call, "input")?;
        let initial: Value = match optional_argument(call, &call.scope(), "initial")? {
            Some(initial) => initial,
            None if items.is_empty() => {
                let message = "an empty list without `initial` has no value";
                return Err(Failure::new(codes::EXPRESSION_FAILED, FailureKind::Code, message));
            }
            None => items.remove(0),
        };
        let expression = literal_text(call, "expression")?;
        let limits = call.script_limits();
        let folded = call.services.python.fold(expression, initial, items, &limits).await;
        Ok(StepOutput::Whole(folded.map_err(|error| call.script_failure(&error, "expression"))?))
    }
}
