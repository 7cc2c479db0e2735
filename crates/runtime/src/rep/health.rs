//! `Runtime.Health`: that it answers, and how much it is doing.

use stave_canon::Value;

use super::runs::Runs;

pub(super) fn health(runs: &Runs) -> Value {
    let (known, going_on) = runs.count();
    let details = Value::from_iter([("runs", known), ("running", going_on)]);
    Value::from_iter([("ok", Value::from(true)), ("details", details)])
}
