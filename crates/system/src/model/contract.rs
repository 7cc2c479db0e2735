//! Operational contracts: what sets a node off, what goes in and out, and within which bounds.

use stave_canon::{Number, Object, Value};

use super::words;

/// What a node promises while it operates.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationalContract {
    pub contract_id: String,
    pub contract_category: ContractCategory,
    /// At least one, with ids of their own.
    pub triggers: Vec<ContractTrigger>,
    pub io_contract: IoContract,
    /// Only in a runtime contract.
    pub state_machine: Option<StateMachineContract>,
    pub runtime_budget: Option<OperationalBudget>,
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

/// An event that sets the node off.
#[derive(Debug, Clone, PartialEq)]
pub struct ContractTrigger {
    pub trigger_id: String,
    pub source: String,
    pub details: Object,
}

/// The keys that go in and out, at least one each.
#[derive(Debug, Clone, PartialEq)]
pub struct IoContract {
    pub input_keys: Vec<String>,
    pub output_keys: Vec<String>,
    pub schema: Option<Object>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StateMachineContract {
    pub initial_state: String,
    /// At least one, with ids of their own.
    pub transitions: Vec<StateTransition>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StateTransition {
    pub transition_id: String,
    pub from_state: String,
    pub to_state: String,
    /// One of the contract's triggers.
    pub trigger_id: Option<String>,
    pub guard: Option<Object>,
}

/// Bounds of which at least one is set; each is an integer that is not negative.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperationalBudget {
    pub max_seconds: Option<Number>,
    pub max_steps: Option<Number>,
    pub max_tokens: Option<Number>,
}
