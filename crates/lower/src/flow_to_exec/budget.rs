//! The flow's own bounds on a run: its deadline, and its budget beside the project's.

use stave_canon::{Object, Value};
use stave_flow::model::{Budget, Flow};

use super::node::bounded;
use crate::hold_to_project::tighten_budget;

/// When a run is stopped; 0 is never.
pub(super) fn timeout_ms(flow: &Flow) -> u32 {
    let timeout = flow.runtime.as_ref().and_then(|runtime| runtime.timeout_ms);
    timeout.map_or(0, |timeout| bounded(timeout.value))
}

/// The policy with the lesser of what the project and what the flow allow.
pub(super) fn with_budget(policy: &Object, flow: &Flow) -> Object {
    let mut policy = policy.clone();
    let budget = flow.runtime.as_ref().and_then(|runtime| runtime.budget.as_ref()).map(values);
    let Some(budget) = budget.filter(|budget| !budget.is_empty()) else { return policy };
    tighten_budget(&mut policy, &budget);
    policy
}

fn values(budget: &Budget) -> Object {
    let mut values = Object::new();
    let counts = [("tokens", budget.tokens), ("calls", budget.calls), ("wall_ms", budget.wall_ms)];
    for (key, count) in counts {
        if let Some(count) = count {
            values.insert(key.to_owned(), count.value.into());
        }
    }
    if let Some(cost) = &budget.cost_usd {
        values.insert("cost_usd".to_owned(), Value::Number(cost.value.clone()));
    }
    values
}
