//! The contracts of a system document, laid onto the exec document of one of its flows, and the effects of its steps
//! compared with those that the system declares.
//!
//! Invariant: a bound only ever becomes tighter, and a contract that cannot be understood stops the run. What a step reaches
//! outside the run follows from the document alone, so a step that reaches more than it may is found before anything runs.

use stave_canon::{Number, Object, Value};
use stave_exec::Document;
use stave_exec::contract::StepContract;
use stave_system::bundle::PolicyEnvelope;
use stave_system::model::{ContractCategory, EffectAnnotation, OperationalBudget, OperationalContract};
use stave_system::{NodeKind, SystemDocument, SystemNode, runtime_contract_id};
use thiserror::Error;

use crate::hold_to_project::tighten_budget;
use crate::step_effects::step_effects;

/// Why a run cannot be held to a system document.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoContract {
    #[error("it has no runtime contract for any step of `{0}`")]
    OtherFlow(String),
    #[error("{bound} of contract `{contract}` is too large to be counted")]
    TooLarge { contract: String, bound: &'static str },
    #[error("step `{step}` uses {effect}, which {by} does not allow")]
    NotAllowed { step: String, effect: String, by: String },
}

/// Lays the runtime contracts of the flow's steps, and the budget of its intent, onto the document. Says how
/// many steps are held to one. Refuses a step with an effect that its node does not declare or that the envelope of the
/// system's bundle forbids.
pub fn hold_to_contracts(
    document: &mut Document,
    system: &SystemDocument,
    envelope: Option<&PolicyEnvelope>,
) -> Result<usize, NoContract> {
    let flow = document.flow.name.clone();
    let mut held = 0;
    for node in &mut document.graph.nodes {
        let described = node_of(system, &flow, &node.id);
        let effects = step_effects(node);
        let not_allowed = |(effect, by)| NoContract::NotAllowed { step: node.id.clone(), effect, by };
        let Some(described) = described else {
            if let Some(effect) = EffectAnnotation::default().undeclared(&effects) {
                let by = "the system document, which does not describe the step,".to_owned();
                return Err(not_allowed((effect, by)));
            }
            continue;
        };
        let declared = described.effects.as_ref();
        if let Some(effect) = declared.and_then(|declared| declared.undeclared(&effects)) {
            return Err(not_allowed((effect, "its node in the system document".to_owned())));
        }
        if let Some(forbidden) = envelope.and_then(|envelope| envelope.forbids(described, &effects)) {
            return Err(not_allowed(forbidden));
        }
        if let Some(contract) = runtime_contract(described) {
            step_contract(contract)?.write(&mut node.extra);
            held += 1;
        }
    }
    if held == 0 {
        return Err(NoContract::OtherFlow(flow));
    }
    if let Some(contract) = intent_of(system, &flow)
        && let Some(budget) = &contract.runtime_budget
    {
        hold_run(&mut document.constants.policy, contract, budget)?;
    }
    Ok(held)
}

fn runtime_contract(node: &SystemNode) -> Option<&OperationalContract> {
    node.contract.as_ref().filter(|contract| contract.contract_category == ContractCategory::Runtime)
}

/// The workflow node of a step: by the id of its contract, which follows from flow and step, by what the node says it
/// runs, or, in a document from elsewhere, by a name that only one node has.
fn node_of<'s>(system: &'s SystemDocument, flow: &str, step: &str) -> Option<&'s SystemNode> {
    let workflows = || system.nodes.iter().filter(|node| node.kind == NodeKind::Workflow);
    let id = runtime_contract_id(flow, step).ok();
    let has_id = |node: &&SystemNode| {
        runtime_contract(node).is_some_and(|contract| Some(&contract.contract_id) == id.as_ref())
    };
    let says = |node: &&SystemNode| {
        let says = |key: &str| node.properties.get(key).and_then(Value::as_str);
        says("plan_id") == Some(flow) && says("step_id") == Some(step)
    };
    workflows().find(has_id).or_else(|| workflows().find(says)).or_else(|| {
        let mut named =
            workflows().filter(|node| node.name == step && !node.properties.contains_key("plan_id"));
        named.next().filter(|_| named.next().is_none())
    })
}

/// The contract of the flow's intent: the one that names the flow, or the only one there is.
fn intent_of<'s>(system: &'s SystemDocument, flow: &str) -> Option<&'s OperationalContract> {
    let intents = || system.nodes.iter().filter(|node| node.kind == NodeKind::Intent);
    let named = |node: &&SystemNode| {
        node.name == flow || node.properties.get("intent_id").and_then(Value::as_str) == Some(flow)
    };
    let sole = || {
        let mut all = intents();
        all.next().filter(|_| all.next().is_none())
    };
    intents().find(named).or_else(sole)?.contract.as_ref()
}

fn step_contract(contract: &OperationalContract) -> Result<StepContract, NoContract> {
    let budget = contract.runtime_budget.clone().unwrap_or_default();
    Ok(StepContract {
        contract_id: contract.contract_id.clone(),
        input_keys: contract.io_contract.input_keys.clone(),
        output_keys: contract.io_contract.output_keys.clone(),
        max_seconds: count(contract, "max_seconds", budget.max_seconds.as_ref())?,
        max_steps: count(contract, "max_steps", budget.max_steps.as_ref())?,
        max_tokens: count(contract, "max_tokens", budget.max_tokens.as_ref())?,
    })
}

/// Tightens the budget of whole runs.
fn hold_run(
    policy: &mut Object,
    contract: &OperationalContract,
    budget: &OperationalBudget,
) -> Result<(), NoContract> {
    let seconds = count(contract, "max_seconds", budget.max_seconds.as_ref())?;
    let bounds = [
        ("wall_ms", seconds.map(|seconds| seconds.saturating_mul(1000).min(i64::MAX as u64))),
        ("steps", count(contract, "max_steps", budget.max_steps.as_ref())?),
        ("tokens", count(contract, "max_tokens", budget.max_tokens.as_ref())?),
    ];
    let bounds = bounds.into_iter().filter_map(|(key, bound)| Some((key.to_owned(), bound?.into())));
    let bounds: Object = bounds.collect();
    if !bounds.is_empty() {
        tighten_budget(policy, &bounds);
    }
    Ok(())
}

fn count(
    contract: &OperationalContract,
    bound: &'static str,
    number: Option<&Number>,
) -> Result<Option<u64>, NoContract> {
    let Some(number) = number else { return Ok(None) };
    let count = Value::Number(number.clone()).as_i64().and_then(|count| u64::try_from(count).ok());
    let too_large = || NoContract::TooLarge { contract: contract.contract_id.clone(), bound };
    count.map(Some).ok_or_else(too_large)
}
