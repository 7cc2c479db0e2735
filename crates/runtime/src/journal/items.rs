//! The results of finished list items, in steps that did not finish: a replay takes them over.
//!
//! Invariant: these answers belong to no step in progress. A run that is resumed counts and uses the answers of steps
//! without a result, and none of these.

use rusqlite::{Connection, params};
use stave_canon::Value;
use stave_operations::TRANSFORM_EACH;

use super::{CallRecord, JournalError, StepRecord};
use crate::report::NodeReport;

/// Whether a row of `call` is the value of an item. Text is compared, because values may nest deeper than SQLite reads.
const IS_ITEM: &str = r#"substr(result, 1, 9) = '{"value":'"#;

/// The member that says that an item was done in the run which this one replays.
pub(crate) const REUSED: &str = "reused";

/// Whether a node works on the items of a list.
pub(super) fn has_items(report: &NodeReport) -> bool {
    report.kind == TRANSFORM_EACH.name
}

/// Takes the answers away that led to the result of a step. Those of items stay when the step failed.
pub(super) fn end_step(connection: &Connection, run: &str, step: &StepRecord) -> Result<(), JournalError> {
    let keeps_items = step.result.outputs.is_err() && step.reports.first().is_some_and(has_items);
    connection
        .prepare_cached(&format!(
            "DELETE FROM call WHERE run = ?1
                 AND (node = ?2 AND NOT (?3 AND {IS_ITEM}) OR substr(node, 1, length(?2) + 1) = ?2 || '/')"
        ))?
        .execute(params![run, step.node, keeps_items])?;
    Ok(())
}

/// Takes the answers away of all steps of a run that has ended, but for items. `idle` has the nodes without a result.
pub(super) fn end_run(connection: &Connection, run: &str, idle: &[NodeReport]) -> Result<(), JournalError> {
    let with_items: Vec<Value> =
        idle.iter().filter(|report| has_items(report)).map(|report| report.id.as_str().into()).collect();
    connection
        .prepare_cached(&format!(
            "DELETE FROM call WHERE run = ?1 AND node NOT IN (SELECT node FROM step WHERE run = ?1)
                 AND NOT ({IS_ITEM} AND node IN (SELECT value FROM json_each(?2)))"
        ))?
        .execute(params![run, Value::Array(with_items).to_string()])?;
    Ok(())
}

/// The answers of steps in progress, and those of items that a replay may take over.
pub(super) fn divide(
    calls: Vec<CallRecord>,
    steps: &[StepRecord],
    has_ended: bool,
) -> (Vec<CallRecord>, Vec<CallRecord>) {
    let is_item = |call: &CallRecord| has_ended || steps.iter().any(|step| step.node == call.node);
    let (items, calls) = calls.into_iter().partition(is_item);
    (calls, items)
}

/// An item's answer as a replay takes it over.
pub(crate) fn reused(mut item: CallRecord) -> CallRecord {
    if let Some(members) = item.result.as_object_mut() {
        members.insert(REUSED.to_owned(), true.into());
    }
    item
}
