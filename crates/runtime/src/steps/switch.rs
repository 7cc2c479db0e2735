//! `switch`: chooses the edges that are followed. The value that `key_from` names is compared with the `case` of
//! the edges out of the step, else with `cases`, which map a case to the id of the next step. A
//! value that no case has takes the `default`.

use async_trait::async_trait;
use stave_canon::{Object, Value};
use stave_engine::references::Reference;

use super::{Step, StepOutput, bad_argument};
use crate::{Failure, port, run::Call};

/// The case that is taken when no other is.
const DEFAULT_CASE: &str = "_DEFAULT";

#[derive(Debug)]
pub(super) struct Switch;

#[async_trait]
impl Step for Switch {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let written = call.with.get("key_from").and_then(Value::as_str);
        if written.and_then(Reference::read).is_none() {
            return Err(bad_argument("key_from", "a reference such as `$.inputs.mode`"));
        }
        let cases = match call.with.get("cases") {
            None => &Object::new(),
            Some(Value::Object(cases)) => cases,
            Some(_) => return Err(bad_argument("cases", "a mapping from cases to steps")),
        };
        let default = match call.with.get("default") {
            None => DEFAULT_CASE,
            Some(Value::String(default)) => default,
            Some(_) => return Err(bad_argument("default", "a text")),
        };
        let key = call.inputs.get("key_from").cloned().unwrap_or_default();
        // Cases are texts, so a number or a boolean counts by its text. Null, lists and mappings have no case.
        let text = port::text(&key).ok();
        let has_edge = |case: &str| {
            call.run.plan.graph.edges_of(call.node).any(|(_, edge)| edge.case.as_deref() == Some(case))
        };
        let known = |case: &&str| has_edge(case) || cases.contains_key(*case);
        let Some(case) = text.as_deref().filter(known).or_else(|| Some(default).filter(known)) else {
            let message = format!("one of the cases, which {key} is not, and there is no case {default:?}");
            return Err(bad_argument("key_from", &message));
        };
        // Edges that name the case win over the mapping.
        let to = if has_edge(case) { Value::Null } else { cases.get(case).cloned().unwrap_or_default() };
        Ok(StepOutput::Whole(Value::from_iter([("case", Value::from(case)), ("to", to)])))
    }
}
