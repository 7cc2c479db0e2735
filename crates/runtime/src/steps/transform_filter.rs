//! `transform.filter`: the items of a list for which an expression over `item` and `index` holds.

use async_trait::async_trait;
use stave_canon::Value;
use stave_diag::codes::run as codes;

use super::{Produced, Step, list_argument, literal_text};
use crate::{Failure, failure::Kind, run::Call};

#[derive(Debug)]
pub(super) struct Filter;

#[async_trait]
impl Step for Filter {
    async fn execute(&self, call: &Call<'_>) -> Result<Produced, Failure> {
        let items = list_argument(call, "input")?;
        let verdicts = call.evaluate_each(literal_text(call, "expression")?, &items).await?;
        let mut kept = Vec::new();
        for (index, (item, verdict)) in items.into_iter().zip(verdicts).enumerate() {
            match verdict {
                Value::Bool(true) => kept.push(item),
                Value::Bool(false) => {}
                other => {
                    let message =
                        format!("item {index}: the expression gave {}, not a boolean", other.kind());
                    return Err(Failure::new(codes::EXPRESSION_FAILED, Kind::Code, message));
                }
            }
        }
        Ok(Produced::Whole(Value::Array(kept)))
    }
}
