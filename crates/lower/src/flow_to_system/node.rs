//! Workflow nodes: one per flow node, with a runtime contract from its ports and times.

use std::collections::BTreeMap;

use stave_canon::{Object, Value};
use stave_flow::graph::{self, EdgeSource};
use stave_flow::model::{Node as FlowNode, Port, Text};
use stave_system::model::{
    ContractCategory, ContractTrigger, IoContract, OperationalBudget, OperationalContract,
};
use stave_system::{BlankPart, NodeKind, SystemNode, runtime_contract_id, stable_node_id};

use super::{Lowering, Nodes, SystemFlow, rows};

/// What the nodes of one flow have in common.
#[derive(Debug)]
pub(super) struct Shared {
    /// The intent, and the knowledge hub when there is one.
    pub(super) base: Vec<String>,
    pub(super) infrastructure: Option<String>,
    pub(super) policy: String,
}

impl<'f> Lowering<'f> {
    pub(super) fn nodes_of(
        &self,
        flow: &SystemFlow<'f>,
        flow_name: &str,
        shared: &Shared,
        nodes: &mut Nodes,
    ) -> Result<(), BlankPart> {
        let id_of = |node: &str| stable_node_id("workflow", &format!("{flow_name}:{node}"));
        let upstream = upstream(flow);
        let order = order(flow, &upstream);
        for node in flow.flow.nodes.values() {
            let name = node.id.as_str();
            let before = upstream.get(name).map(Vec::as_slice).unwrap_or_default();
            let mut depends_on = before.iter().map(|name| id_of(name)).collect::<Result<Vec<_>, _>>()?;
            if depends_on.is_empty() {
                depends_on.extend(shared.base.iter().cloned());
                depends_on.extend(shared.infrastructure.clone());
            }
            if node.prompt.is_read() {
                depends_on.push(shared.policy.clone());
            }
            depends_on.extend(self.integrations(flow, node, nodes)?);
            if let Some(state) = node.state.as_ref() {
                depends_on.push(self.store(flow, flow_name, state, nodes)?);
            }
            let index = order.get(name).copied().unwrap_or_default();
            nodes.add(SystemNode {
                properties: self.properties(flow_name, node, index),
                depends_on,
                effects: Some(self.effects(node)),
                provenance: rows(self.provenance(flow, node.id.span.to(node.span))),
                contract: Some(contract(flow_name, node, before)?),
                ..SystemNode::new(id_of(name)?, self.tenant_id, NodeKind::Workflow, name)
            });
        }
        Ok(())
    }

    fn properties(&self, flow_name: &str, node: &FlowNode, index: usize) -> Object {
        let mut properties: Object = [
            ("plan_id", Value::from(flow_name)),
            ("step_id", node.id.as_str().into()),
            ("step_kind", node.step_kind().into()),
            ("order_idx", index.into()),
            ("timeout_ms", node.timeout_ms().into()),
            ("retries", node.retries().into()),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        let models = self
            .models(node)
            .into_iter()
            .map(|model| Value::from_iter([("provider", model.provider), ("name", model.name)]));
        let models: Vec<Value> = models.collect();
        if !models.is_empty() {
            properties.insert("models".into(), models.into());
        }
        let labels: Object = node
            .inputs
            .iter()
            .chain(&node.outputs)
            .filter_map(|port| Some((port.name.as_str().to_owned(), port.sensitivity?.value.word().into())))
            .collect();
        if !labels.is_empty() {
            properties.insert("sensitivity".into(), labels.into());
        }
        properties
    }
}

/// The flow nodes that each one needs: those that feed it, and those that answer its tools.
fn upstream<'f>(flow: &SystemFlow<'f>) -> BTreeMap<&'f str, Vec<&'f str>> {
    let mut upstream: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for edge in graph::connected(flow.flow) {
        let (EdgeSource::Output(from, _) | EdgeSource::Error(from, _)) = edge.origin else { continue };
        if let Some(to) = edge.destination.node() {
            upstream.entry(to.id.as_str()).or_default().push(from.id.as_str());
        }
    }
    for node in flow.flow.nodes.values() {
        let known = node.called().map(Text::as_str).filter(|target| flow.flow.nodes.contains_key(*target));
        upstream.entry(node.id.as_str()).or_default().extend(known);
    }
    for before in upstream.values_mut() {
        before.sort_unstable();
        before.dedup();
    }
    upstream
}

/// Places that respect every dependency; nodes that could go first go in file order. What a cycle holds
/// back comes last, in file order too.
fn order<'f>(flow: &SystemFlow<'f>, upstream: &BTreeMap<&'f str, Vec<&'f str>>) -> BTreeMap<&'f str, usize> {
    let place: BTreeMap<&str, usize> =
        flow.flow.nodes.keys().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
    let mut waiting: BTreeMap<&str, usize> = BTreeMap::new();
    let mut downstream: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut ready = std::collections::BTreeSet::new();
    for (name, index) in &place {
        let before = upstream.get(name).map(Vec::as_slice).unwrap_or_default();
        if before.is_empty() {
            ready.insert((*index, *name));
        }
        waiting.insert(name, before.len());
        for from in before {
            downstream.entry(from).or_default().push(name);
        }
    }
    let mut order = BTreeMap::new();
    while let Some((_, name)) = ready.pop_first() {
        order.insert(name, order.len());
        for next in downstream.get(name).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(next) {
                *count = count.saturating_sub(1);
                if *count == 0
                    && let Some(index) = place.get(next)
                {
                    ready.insert((*index, *next));
                }
            }
        }
    }
    for name in flow.flow.nodes.keys() {
        let next = order.len();
        order.entry(name.as_str()).or_insert(next);
    }
    order
}

fn contract(flow_name: &str, node: &FlowNode, before: &[&str]) -> Result<OperationalContract, BlankPart> {
    let trigger = if before.is_empty() {
        ContractTrigger {
            trigger_id: "t_request".to_owned(),
            source: "flow.request".to_owned(),
            details: Object::new(),
        }
    } else {
        let details = [("after".to_owned(), Value::from(before.to_vec()))].into_iter().collect();
        ContractTrigger { trigger_id: "t_upstream".to_owned(), source: "flow.edge".to_owned(), details }
    };
    // The specification asks for at least one key on either side.
    let keys = |ports: &[Port], otherwise: &str| -> Vec<String> {
        let names: Vec<String> = ports.iter().map(|port| port.name.as_str().to_owned()).collect();
        if names.is_empty() { vec![otherwise.to_owned()] } else { names }
    };
    Ok(OperationalContract {
        contract_id: runtime_contract_id(flow_name, node.id.as_str())?,
        contract_category: ContractCategory::Runtime,
        triggers: vec![trigger],
        io_contract: IoContract {
            input_keys: keys(&node.inputs, "request"),
            output_keys: keys(&node.outputs, "result"),
            schema: Some(schema(node)),
        },
        state_machine: None,
        runtime_budget: Some(budget(node)),
        acceptance: None,
    })
}

/// The types of the ports, and their schemas where the author wrote one.
fn schema(node: &FlowNode) -> Object {
    let side = |ports: &[Port]| -> Value {
        let members = ports.iter().map(|port| {
            let mut member: Object = Object::new();
            if let Some(port_type) = port.port_type {
                member.insert("type".into(), port_type.value.word().into());
            }
            if port.is_optional() {
                member.insert("optional".into(), true.into());
            }
            if let Some(schema) = &port.schema {
                member.insert("schema".into(), schema.to_value());
            }
            (port.name.as_str().to_owned(), Value::Object(member))
        });
        members.collect()
    };
    [("inputs".to_owned(), side(&node.inputs)), ("outputs".to_owned(), side(&node.outputs))]
        .into_iter()
        .collect()
}

/// All attempts together, in whole seconds, and the tokens of all of them.
fn budget(node: &FlowNode) -> OperationalBudget {
    let attempts = node.retries().saturating_add(1);
    let milliseconds = node.timeout_ms().saturating_mul(attempts);
    let tokens = node.prompt.as_ref().and_then(|prompt| prompt.max_tokens);
    OperationalBudget {
        max_seconds: Some(milliseconds.div_ceil(1000).into()),
        max_steps: Some(attempts.into()),
        max_tokens: tokens.map(|tokens| tokens.value.saturating_mul(attempts).into()),
    }
}
