//! A step's workflow node.

use stave_canon::{Object, Value};
use stave_shape::Reader;

use super::{PlacedStep, Plan, Step, filled, items, string_set};
use crate::codec::note;
use crate::model::{
    ContractCategory, ContractTrigger, EffectAnnotation, IoContract, OperationalContract, ProvenancePointer,
};
use crate::{NodeKind, SystemNode, codes, runtime_contract_id, stable_node_id, strip};

pub(super) fn node(
    reader: &mut Reader,
    plan: &Plan,
    placed: &PlacedStep,
    previous: Option<&str>,
    allow_network: bool,
) -> Option<SystemNode> {
    let step = &placed.step;
    // A blank part was reported when the plan was read.
    let id = stable_node_id("workflow", &format!("{}:{}:{}", plan.id, step.id, step.title)).ok()?;
    let contract_id = runtime_contract_id(&plan.id, &step.id).ok()?;
    let touched = touched_paths(&step.outputs);
    let snapshot = step.outputs.get("retrieval_snapshot");
    let has_snapshot = snapshot.and_then(Value::as_object).is_some_and(|snapshot| !snapshot.is_empty());
    let effects = EffectAnnotation {
        network: allow_network || has_snapshot,
        fs_write: string_set(&touched),
        ..EffectAnnotation::default()
    };
    Some(SystemNode {
        properties: properties(plan, step, touched),
        depends_on: previous.map(str::to_owned).into_iter().collect(),
        effects: Some(effects),
        provenance: snapshot.map_or_else(Vec::new, |snapshot| provenance(reader, plan, placed, snapshot)),
        contract: Some(contract(contract_id)),
        ..SystemNode::new(id, plan.tenant_id.as_str(), NodeKind::Workflow, step.title.as_str())
    })
}

fn properties(plan: &Plan, step: &Step, touched: Vec<Value>) -> Object {
    let mut properties = Object::new();
    properties.insert("plan_id".into(), plan.id.as_str().into());
    properties.insert("step_id".into(), step.id.as_str().into());
    properties.insert("status".into(), step.status.clone());
    properties.insert("order_idx".into(), step.order_idx.into());
    for key in ["last_prompt_key", "last_patch_sha256"] {
        if let Some(text) = filled(&step.outputs, key) {
            properties.insert(key.to_owned(), text.into());
        }
    }
    if !touched.is_empty() {
        properties.insert("last_touched_paths".into(), Value::Array(touched));
    }
    properties
}

/// The paths of the best candidate patch, as they were written.
fn touched_paths(outputs: &Value) -> Vec<Value> {
    let paths = outputs.get("best_candidate").map(|candidate| items(candidate, "touched_paths"));
    let filled = |path: &&Value| path.as_str().is_some_and(|path| !strip(path).is_empty());
    paths.unwrap_or_default().iter().filter(filled).cloned().collect()
}

/// Rows that can be read. One of another tenant stops the build; one that is malformed is left out, since
/// provenance of a retrieval is only ever evidence.
fn provenance(
    reader: &mut Reader,
    plan: &Plan,
    placed: &PlacedStep,
    snapshot: &Value,
) -> Vec<ProvenancePointer> {
    let pointer = placed.pointer.key("outputs").key("retrieval_snapshot").key("provenance");
    let mut rows = Vec::new();
    for (index, item) in items(snapshot, "provenance").iter().enumerate() {
        let Ok(row) = ProvenancePointer::from_value(item) else { continue };
        if strip(&row.tenant_id) != plan.tenant_id {
            let message = format!("tenant {:?} in a plan of tenant {:?}", row.tenant_id, plan.tenant_id);
            note(reader, codes::SYSTEM_CROSS_TENANT, &pointer.index(index).key("tenant_id"), message);
            continue;
        }
        rows.push(row);
    }
    rows
}

fn contract(contract_id: String) -> OperationalContract {
    let trigger = |trigger_id: &str, source: &str, details: Object| ContractTrigger {
        trigger_id: trigger_id.to_owned(),
        source: source.to_owned(),
        details,
    };
    let dispatch = [("event_type".to_owned(), Value::from("runtime.action.dispatch"))].into_iter().collect();
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    OperationalContract {
        contract_id,
        contract_category: ContractCategory::Runtime,
        triggers: vec![
            trigger("t_compile_runtime_start", "compile.runtime.start", Object::new()),
            trigger("t_scheduler_dispatch", "scheduler", dispatch),
        ],
        io_contract: IoContract {
            input_keys: keys(&["objective", "step_inputs"]),
            output_keys: keys(&["step_artifacts", "step_status", "retrieval_snapshot"]),
            schema: None,
        },
        state_machine: None,
        runtime_budget: None,
        acceptance: None,
    }
}
