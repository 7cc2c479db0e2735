//! The bounds of a replay: those that the flow has now, not those that the first run was held to.
//!
//! Invariant: a run that was held to the contracts of a system document keeps its bounds. They are tighter than the
//! flow's own, and the flow does not name them.

use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_exec::Document;
use stave_exec::contract::StepContract;

use super::StoredRun;

const LIMITS: &str = "limits";
const BUDGET: &str = "budget";

impl StoredRun {
    /// The run with the budget and the deadline that `now`, the same flow as it is now, has. Everything else stays as the
    /// run began with it.
    #[must_use]
    pub fn held_to_budget_of(mut self, now: &Document) -> StoredRun {
        let has_contract =
            |node: &stave_exec::DocumentNode| !matches!(StepContract::read(&node.extra), Ok(None));
        let is_other = now.flow.name != self.document.flow.name;
        if is_other || self.document.graph.nodes.iter().any(has_contract) {
            return self;
        }
        let budget = |document: &Document| {
            document.constants.policy.get(LIMITS).and_then(|limits| limits.get(BUDGET)).cloned()
        };
        let wanted = budget(now);
        if wanted == budget(&self.document) && now.flow.timeout_ms == self.document.flow.timeout_ms {
            return self;
        }
        let document = Arc::make_mut(&mut self.document);
        document.flow.timeout_ms = now.flow.timeout_ms;
        let limits = document.constants.policy.entry(LIMITS.to_owned());
        // A policy of another shape is refused by the runtime.
        if let Value::Object(limits) = limits.or_insert_with(|| Value::Object(Object::new())) {
            match wanted {
                Some(budget) => {
                    limits.insert(BUDGET.to_owned(), budget);
                }
                None => {
                    limits.shift_remove(BUDGET);
                }
            }
        }
        self.document_hash = self.document.fingerprint();
        self
    }
}
