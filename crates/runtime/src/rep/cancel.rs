//! `Runtime.Cancel`: a run is to end. It ends as failed, with the reason in its summary.

use stave_canon::{Object, Value};

use super::fault::Fault;
use super::runs::Runs;

pub(super) fn cancel(runs: &Runs, params: &Object) -> Result<Value, Fault> {
    let run = runs.get(super::run_id(params)?);
    let ok = run.is_some_and(|run| run.cancel());
    Ok(Value::from_iter([("ok", ok)]))
}
