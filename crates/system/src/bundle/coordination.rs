//! The orchestration and coordination of a document's workflow nodes, for compiles that bring none of
//! their own.

use std::collections::{BTreeMap, BTreeSet};

use stave_canon::{Object, Value};

use crate::{SystemDocument, SystemNode, strip, workflow_order};

/// How a run's steps follow each other, and who runs them.
#[derive(Debug, Clone, PartialEq)]
pub struct Specifications {
    pub orchestration: Value,
    pub coordination: Value,
}

/// Lays the workflow nodes out as steps, a layer for each depth of dependency: what is in one layer may
/// run side by side.
#[must_use]
pub fn specifications(run_id: &str, document: &SystemDocument) -> Specifications {
    let workflows = workflow_order(document);
    let steps: Vec<Step<'_>> = workflows
        .iter()
        .enumerate()
        .map(|(index, node)| Step { id: format!("workflow_{index:03}"), node, role: role(node) })
        .collect();
    Specifications {
        orchestration: orchestration(run_id, document, &steps),
        coordination: coordination(run_id, document, &steps),
    }
}

#[derive(Debug)]
struct Step<'d> {
    id: String,
    node: &'d SystemNode,
    role: &'static str,
}

/// Who runs a node: one that asks a model writes, one that reaches the network retrieves, others plan.
pub(super) fn role(node: &SystemNode) -> &'static str {
    match &node.effects {
        Some(effects) if effects.tools.iter().any(|tool| tool == "llm.complete") => "writer",
        Some(effects) if effects.network => "retriever",
        _ => "planner",
    }
}

fn orchestration(run_id: &str, document: &SystemDocument, steps: &[Step<'_>]) -> Value {
    let rows = steps.iter().enumerate().map(|(index, step)| {
        let inputs = [
            ("ir_node_id", strip(&step.node.id)),
            ("ir_node_name", strip(&step.node.name)),
            ("status", "pending"),
        ];
        Value::from_iter([
            ("step_id", Value::from(step.id.as_str())),
            ("agent_name", "compile_controller".into()),
            ("role", step.role.into()),
            ("order_idx", index.into()),
            ("inputs", inputs.into_iter().collect()),
        ])
    });
    let transitions = steps.windows(2).filter_map(|pair| {
        let [from, to] = pair else { return None };
        let members = [("event", "step_completed"), ("from", from.id.as_str()), ("to", to.id.as_str())];
        Some(Value::from_iter(members))
    });
    let machine = [
        ("initial_state", Value::from(steps.first().map(|step| step.id.as_str()))),
        ("states", steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>().into()),
        ("transitions", transitions.collect::<Vec<_>>().into()),
    ];
    let mut members = scope(run_id, document, 1);
    members.insert("steps".into(), rows.collect::<Vec<_>>().into());
    members.insert("state_machine".into(), machine.into_iter().collect());
    members.insert("roles".into(), roles(steps).into_iter().collect::<Vec<_>>().into());
    members.into()
}

fn coordination(run_id: &str, document: &SystemDocument, steps: &[Step<'_>]) -> Value {
    let edges = edges(steps);
    let roles = roles(steps);
    let bindings = roles.iter().map(|role| {
        let bound: Vec<&str> =
            steps.iter().filter(|step| step.role == *role).map(|step| step.id.as_str()).collect();
        Value::from_iter([
            ("agent_name", Value::from("compile_controller")),
            ("role_name", (*role).into()),
            ("orchestration_step_ids", bound.into()),
        ])
    });
    let profiles = roles.iter().map(|role| (*role, profile(role, steps)));
    let version = if edges.is_empty() { 1 } else { 2 };
    let nodes: Vec<Value> = steps
        .iter()
        .map(|step| {
            Value::from_iter([
                ("kind", "step"),
                ("node_id", step.id.as_str()),
                ("label", strip(&step.node.name)),
            ])
        })
        .collect();
    let graph = [("nodes", Value::Array(nodes)), ("edges", Value::Array(edges))];
    let isolation =
        [("require_scope_match", Value::from(true)), ("scope_fields", vec!["tenant_id", "repo_id"].into())];
    let mut members = scope(run_id, document, version);
    members.insert("coordination_graph".into(), graph.into_iter().collect());
    members.insert("orchestration_bindings".into(), bindings.collect::<Vec<_>>().into());
    let governance = [("max_steps", Value::from(steps.len())), ("role_profiles", profiles.collect())];
    members.insert("governance".into(), governance.into_iter().collect());
    members.insert("tenant_isolation_contract".into(), isolation.into_iter().collect());
    members.into()
}

fn scope(run_id: &str, document: &SystemDocument, version: i64) -> Object {
    [
        ("spec_version", Value::from(version)),
        ("run_id", run_id.into()),
        ("tenant_id", strip(&document.tenant_id).into()),
        ("repo_id", strip(&document.repo_id).into()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

fn roles(steps: &[Step<'_>]) -> BTreeSet<&'static str> {
    steps.iter().map(|step| step.role).collect()
}

/// What a role may do: the sum of what its steps declare.
fn profile(role: &str, steps: &[Step<'_>]) -> Value {
    let effects =
        || steps.iter().filter(|step| step.role == role).filter_map(|step| step.node.effects.as_ref());
    let tools: BTreeSet<&str> = effects().flat_map(|effects| &effects.tools).map(String::as_str).collect();
    Value::from_iter([
        ("allowed_tools", Value::from(tools.into_iter().collect::<Vec<_>>())),
        ("execution_allow_network", effects().any(|effects| effects.network).into()),
    ])
}

/// An edge for each dependency between two steps.
fn edges(steps: &[Step<'_>]) -> Vec<Value> {
    let by_node: BTreeMap<&str, &Step<'_>> = steps.iter().map(|step| (strip(&step.node.id), step)).collect();
    let mut fan_out: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pairs = Vec::new();
    for step in steps {
        let needed: BTreeSet<&str> = step.node.depends_on.iter().map(|id| strip(id)).collect();
        let needed: Vec<&Step<'_>> = needed.into_iter().filter_map(|id| by_node.get(id).copied()).collect();
        for from in &needed {
            *fan_out.entry(from.id.as_str()).or_default() += 1;
        }
        pairs.extend(needed.iter().map(|from| (*from, step, needed.len())));
    }
    let edges = pairs.into_iter().enumerate().map(|(index, (from, to, fan_in))| {
        let spread = fan_out.get(from.id.as_str()).copied().unwrap_or_default();
        let kind = match (spread, fan_in) {
            (_, 2..) => "barrier",
            (2.., _) => "parallel",
            _ => "handoff",
        };
        Value::from_iter([
            ("edge_id", Value::from(format!("edge_{:04}", index + 1))),
            ("kind", kind.into()),
            ("src_step_id", from.id.as_str().into()),
            ("dst_step_id", to.id.as_str().into()),
        ])
    });
    edges.collect()
}
