//! Operational contracts: what sets a node off, what goes in and out, and within which bounds.

use stave_canon::{Number, Object};

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
