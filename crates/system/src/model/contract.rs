//! Operational contracts: what sets a node off, what goes in and out, and within which bounds.

use stave_canon::{Number, Object, Value};
use stave_shape::Shape;

use super::words;
use crate::codec::leaves::{category, count, keys, stripped, transitions, triggers};
use crate::verify::invariants;

/// What a node promises while it operates.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null, check = invariants::contract)]
pub struct OperationalContract {
    #[shape(stand_in, with = stripped)]
    pub contract_id: String,
    #[shape(stand_in, with = category)]
    pub contract_category: ContractCategory,
    /// At least one, with ids of their own.
    #[shape(stand_in, filled, with = triggers)]
    pub triggers: Vec<ContractTrigger>,
    #[shape(stand_in)]
    pub io_contract: IoContract,
    /// Only in a runtime contract.
    pub state_machine: Option<StateMachineContract>,
    pub runtime_budget: Option<OperationalBudget>,
    /// What the node is accepted by.
    pub acceptance: Option<AcceptanceCriteria>,
}

impl OperationalContract {
    /// What an intent is accepted by: criteria, each an id and how it is evaluated, in the order given.
    #[must_use]
    pub fn acceptance<'c>(
        contract_id: String,
        criteria: impl IntoIterator<Item = (&'c str, &'c str)>,
    ) -> OperationalContract {
        let criterion = |(id, mode): (&str, &str)| Value::from_iter([("id", id), ("evaluation_mode", mode)]);
        let criteria = criteria.into_iter().map(criterion).collect();
        OperationalContract {
            contract_id,
            contract_category: ContractCategory::Acceptance,
            triggers: vec![ContractTrigger {
                trigger_id: "t_acceptance_eval".to_owned(),
                source: "compile.acceptance.evaluate".to_owned(),
                details: Object::new(),
            }],
            io_contract: IoContract {
                input_keys: vec!["intent_context".to_owned()],
                output_keys: vec!["acceptance_status".to_owned()],
                schema: None,
            },
            state_machine: None,
            runtime_budget: None,
            acceptance: Some([("criteria".to_owned(), Value::Array(criteria))].into_iter().collect()),
        }
    }
}

/// Free-form acceptance conditions.
pub type AcceptanceCriteria = Object;

words! {
    /// What a contract is about.
    ContractCategory {
        Runtime = "runtime",
        Deployment = "deployment",
        Authorization = "authorization",
        Acceptance = "acceptance",
    }
}

/// A category that could not be read must not bring further faults; a runtime contract may have everything.
impl Default for ContractCategory {
    fn default() -> Self {
        ContractCategory::Runtime
    }
}

/// An event that sets the node off.
#[derive(Debug, Clone, PartialEq, Shape)]
pub struct ContractTrigger {
    #[shape(stand_in, with = stripped)]
    pub trigger_id: String,
    /// Where the event comes from.
    #[shape(stand_in, with = stripped)]
    pub source: String,
    #[shape(default)]
    pub details: Object,
}

/// The keys that go in and out, at least one each.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(not_null)]
pub struct IoContract {
    #[shape(stand_in, filled, with = keys)]
    pub input_keys: Vec<String>,
    #[shape(stand_in, filled, with = keys)]
    pub output_keys: Vec<String>,
    /// What the values are.
    pub schema: Option<Object>,
}

/// The states that a node goes through.
#[derive(Debug, Clone, PartialEq, Shape)]
pub struct StateMachineContract {
    #[shape(stand_in, with = stripped)]
    pub initial_state: String,
    /// At least one, with ids of their own.
    #[shape(stand_in, filled, with = transitions)]
    pub transitions: Vec<StateTransition>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub struct StateTransition {
    #[shape(stand_in, with = stripped)]
    pub transition_id: String,
    #[shape(stand_in, with = stripped)]
    pub from_state: String,
    #[shape(stand_in, with = stripped)]
    pub to_state: String,
    /// One of the contract's triggers.
    #[shape(with = stripped)]
    pub trigger_id: Option<String>,
    /// When the transition is taken.
    #[shape(not_null)]
    pub guard: Option<Object>,
}

/// Bounds of which at least one is set; each is an integer that is not negative.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(check = invariants::budget)]
pub struct OperationalBudget {
    #[shape(with = count)]
    pub max_seconds: Option<Number>,
    #[shape(with = count)]
    pub max_steps: Option<Number>,
    #[shape(with = count)]
    pub max_tokens: Option<Number>,
}
