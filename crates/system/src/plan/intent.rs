//! The intent node: what the plan is for, and what it is accepted by.

use stave_canon::{Object, Pointer, Value};
use stave_shape::Reader;

use super::{PlacedStep, Plan, PlanContext, filled, items};
use crate::codec::note;
use crate::model::OperationalContract;
use crate::{NodeKind, SystemNode, acceptance_contract_id, codes, stable_node_id};

#[derive(Debug)]
pub(super) struct Intent {
    pub(super) node: SystemNode,
    /// Whether the intent lets its steps use the network.
    pub(super) allow_network: bool,
}

/// The intent node, when an intent is named: by the given properties, else by the first step that does.
pub(super) fn node(reader: &mut Reader, plan: &Plan, context: PlanContext<'_>) -> Option<Intent> {
    let intent_id = match context.intent_node_properties {
        Some(properties) => filled(properties, "intent_id")?,
        None => plan.steps().find_map(|step| intent_of(&step.inputs))?,
    };
    refuse_unverified(reader, plan);
    let id = stable_node_id("intent", &format!("intent:{intent_id}")).ok()?;
    let contract_id = acceptance_contract_id(&plan.tenant_id, intent_id).ok()?;
    // Without a spec, the first step's inputs may carry the intent themselves.
    let nothing = Value::Null;
    let first_inputs = plan.steps().next().map_or(&nothing, |step| &step.inputs);
    let spec = context.intent_spec;
    let source = spec.unwrap_or(first_inputs);
    let criteria = summaries(source, Part::Criteria);

    let mut properties =
        context.intent_node_properties.and_then(Value::as_object).cloned().unwrap_or_default();
    properties.entry("intent_id".to_owned()).or_insert_with(|| intent_id.into());
    if let Some(goal) = source.get("goal_statement").and_then(Value::as_str) {
        properties.insert("goal_statement".into(), goal.into());
    } else if let Some(goal) = plan.goal() {
        properties.entry("goal_statement".to_owned()).or_insert_with(|| goal.into());
    }
    properties.insert("active_objectives".into(), summaries(source, Part::Objectives).into());
    properties.insert("linked_constraints".into(), summaries(source, Part::Constraints).into());
    properties.insert("active_success_criteria".into(), criteria.clone().into());
    let version = spec.and_then(|spec| spec.get("spec_version")).and_then(Value::as_i64).unwrap_or(1);
    properties.insert("spec_version".into(), version.into());
    let bounds = source.get("operating_bounds").and_then(Value::as_object).map(without_nulls);
    if let Some(bounds) = &bounds
        && properties.get("operating_bounds").is_none_or(Value::is_null)
    {
        properties.insert("operating_bounds".into(), bounds.clone().into());
    }
    let effective = bounds.or_else(|| properties.get("operating_bounds").and_then(Value::as_object).cloned());
    let allow_network =
        effective.and_then(|bounds| bounds.get("allow_network").and_then(Value::as_bool)).unwrap_or(false);
    let node = SystemNode {
        properties,
        contract: Some(contract(contract_id, &criteria)),
        ..SystemNode::new(id, plan.tenant_id.as_str(), NodeKind::Intent, "intent_contract")
    };
    Some(Intent { node, allow_network })
}

fn intent_of(inputs: &Value) -> Option<&str> {
    filled(inputs, "intent_id").or_else(|| filled(inputs.get("intent_ref")?, "intent_id"))
}

/// A step that pins its intent by hash cannot be built without the store that holds it.
fn refuse_unverified(reader: &mut Reader, plan: &Plan) {
    let Some(PlacedStep { pointer, step }) = plan.steps.first() else { return };
    let Some(reference) = step.inputs.get("intent_ref") else { return };
    if filled(reference, "intent_id").is_some() && filled(reference, "stable_intent_sha256").is_some() {
        let pointer: Pointer = pointer.key("inputs").key("intent_ref");
        note(
            reader,
            codes::SYSTEM_BAD_VALUE,
            &pointer,
            "pins an intent by hash, and no intent store is there to verify it",
        );
    }
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Objectives,
    Constraints,
    Criteria,
}

/// The short form of each objective, constraint or criterion, from a spec or from a step's inputs.
fn summaries(source: &Value, part: Part) -> Vec<Value> {
    let (spec_key, step_key) = match part {
        Part::Objectives => ("objectives", "active_objectives"),
        Part::Constraints => ("constraints", "linked_constraints"),
        Part::Criteria => ("success_criteria", "active_success_criteria"),
    };
    let key = if source.get(spec_key).is_some() { spec_key } else { step_key };
    items(source, key).iter().filter_map(|item| summary(item, part)).collect()
}

fn summary(item: &Value, part: Part) -> Option<Value> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| filled(item, key)).map(Value::from);
    let members = match part {
        Part::Objectives => vec![
            ("id", Some(text(&["id"])?)),
            ("priority", Some(item.get("priority").and_then(Value::as_i64).unwrap_or(0).into())),
            ("statement", text(&["statement"])),
            ("target", item.get("target").filter(|target| !target.is_null()).cloned()),
        ],
        Part::Constraints => vec![
            ("constraint_id", Some(text(&["constraint_id", "id"])?)),
            ("kind", text(&["kind"])),
            ("summary", text(&["summary", "statement"])),
        ],
        Part::Criteria => vec![
            ("success_criterion_id", Some(text(&["success_criterion_id", "id"])?)),
            ("evaluation_mode", text(&["evaluation_mode"])),
            ("summary", text(&["summary", "description"])),
        ],
    };
    Some(members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
}

fn without_nulls(object: &Object) -> Object {
    let present = object.iter().filter(|(_, value)| !value.is_null());
    present.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The acceptance contract: every criterion with how it is evaluated, in order of their ids.
fn contract(contract_id: String, criteria: &[Value]) -> OperationalContract {
    let mut criteria: Vec<(&str, &str)> = criteria
        .iter()
        .filter_map(|criterion| {
            Some((filled(criterion, "success_criterion_id")?, filled(criterion, "evaluation_mode")?))
        })
        .collect();
    criteria.sort_by_key(|(id, _)| *id);
    OperationalContract::acceptance(contract_id, criteria)
}
