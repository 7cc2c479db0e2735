//! `transform.reduce`: a list folded from the left with an expression over `acc`, `item` and `index`.

use async_trait::async_trait;
use stave_canon::Value;

use super::{Produced, Step, argument, list_argument, literal_text};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct Reduce;

#[async_trait]
impl Step for Reduce {
    async fn execute(&self, call: &Call<'_>) -> Result<Produced, Failure> {
        let items = list_argument(call, "input")?;
        let initial: Value = argument(call, &call.scope(), "initial")?;
        let expression = literal_text(call, "expression")?;
        let limits = call.script_limits();
        let folded = call.services.python.fold(expression, initial, items, &limits).await;
        Ok(Produced::Whole(folded.map_err(|error| call.script_failure(&error, "expression"))?))
    }
}
