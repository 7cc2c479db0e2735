//! `transform.filter`: the items of a list for which an expression over `item` and `index` is true, as Python
//! counts truth; the checker warns where it is not a boolean.

use async_trait::async_trait;
use stave_canon::Value;

use super::{Step, StepOutput, list_argument, literal_text};
use crate::{Failure, edges::is_true, run::Call};

#[derive(Debug)]
pub(super) struct Filter;

#[async_trait]
impl Step for Filter {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let items = list_argument(call, "input")?;
        let verdicts = call.evaluate_each(literal_text(call, "expression")?, &items).await?;
        let kept =
            items.into_iter().zip(verdicts).filter(|(_, verdict)| is_true(verdict)).map(|(item, _)| item);
        Ok(StepOutput::Whole(Value::Array(kept.collect())))
    }
}
