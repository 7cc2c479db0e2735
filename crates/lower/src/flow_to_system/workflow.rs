//! Workflows, which have an exec document and no flow: an intent, a workflow node per exec node, and what
//! the steps reach, as far as the document says.

use stave_canon::{Object, Value, compact_utf8, sha256_hex};
use stave_exec::DocumentNode;
use stave_operations::step_kind;
use stave_system::model::{
    ContractCategory, ContractTrigger, EffectAnnotation, IoContract, OperationalBudget, OperationalContract,
    ProvenanceKind, ProvenancePointer,
};
use stave_system::{
    BlankPart, NodeKind, SystemNode, acceptance_contract_id, runtime_contract_id, stable_node_id,
};

use super::integration;
use super::workflow_index::WorkflowIndex;
use super::{Lowering, Nodes, SystemWorkflow};
use crate::step_effects::step_effects;

/// Steps that the compiler puts in; they touch nothing.
pub(super) const INNER: [&str; 4] = ["switch", "dsl.emit", "finish", "dsl.finish"];

impl<'f> Lowering<'f> {
    pub(super) fn workflow(&self, workflow: &SystemWorkflow<'f>, nodes: &mut Nodes) -> Result<(), BlankPart> {
        let document = workflow.document;
        let name = document.flow.name.as_str();
        let id_of = |node: &str| stable_node_id("workflow", &format!("{name}:{node}"));
        let found = WorkflowIndex::new(workflow);
        let intent = nodes.add(self.workflow_intent(workflow, &found)?);
        let base = self.base(intent, nodes);
        let policy = self.workflow_policy(workflow, nodes)?;
        for (index, node) in document.graph.nodes.iter().enumerate() {
            let before = found.before(&node.id);
            let mut depends_on = before.iter().map(|name| id_of(name)).collect::<Result<Vec<_>, _>>()?;
            if depends_on.is_empty() {
                depends_on.extend(base.iter().cloned());
            }
            if node.kind.starts_with("policy.") {
                depends_on.extend(policy.clone());
            }
            let provenance = found.lines_of(node).map(|lines| self.place(workflow, &found, lines));
            depends_on.extend(self.reached(node, provenance.clone(), nodes)?);
            let properties = [
                ("plan_id", Value::from(name)),
                ("step_id", node.id.as_str().into()),
                ("step_kind", node.kind.as_str().into()),
                ("order_idx", index.into()),
                ("timeout_ms", node.timeout_ms.into()),
                ("retries", node.retry.max.into()),
            ];
            let whole = || self.place(workflow, &found, (1, found.count()));
            nodes.add(SystemNode {
                properties: properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                depends_on,
                effects: Some(effects(node)),
                provenance: vec![provenance.unwrap_or_else(whole)],
                contract: Some(contract(workflow, node, &found)?),
                ..SystemNode::new(id_of(&node.id)?, self.tenant_id, NodeKind::Workflow, node.id.as_str())
            });
        }
        Ok(())
    }

    /// A workflow has no tests; what it is accepted by is that it ends within its time.
    fn workflow_intent(
        &self,
        workflow: &SystemWorkflow<'f>,
        found: &WorkflowIndex<'_>,
    ) -> Result<SystemNode, BlankPart> {
        let document = workflow.document;
        let name = document.flow.name.as_str();
        let contract_id = acceptance_contract_id(self.tenant_id, name)?;
        let mut contract = OperationalContract::acceptance(contract_id, []);
        if document.flow.timeout_ms > 0 {
            let seconds = document.flow.timeout_ms.div_ceil(1000);
            contract.runtime_budget = Some(OperationalBudget {
                max_seconds: Some(u64::from(seconds).into()),
                ..OperationalBudget::default()
            });
        }
        let inputs: Vec<&str> = document.inputs_schema.keys().map(String::as_str).collect();
        let properties: [(&str, Value); 5] = [
            ("intent_id", name.into()),
            ("spec_version", 1_i64.into()),
            ("active_success_criteria", Value::Array(Vec::new())),
            ("requires", inputs.into()),
            ("optional", Value::Array(Vec::new())),
        ];
        Ok(SystemNode {
            properties: properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            provenance: vec![self.place(workflow, found, found.head())],
            contract: Some(contract),
            ..SystemNode::new(
                stable_node_id("intent", &format!("intent:{name}"))?,
                self.tenant_id,
                NodeKind::Intent,
                name,
            )
        })
    }

    /// The policy that is baked into the document; `None` for a workflow that applies none.
    fn workflow_policy(
        &self,
        workflow: &SystemWorkflow<'f>,
        nodes: &mut Nodes,
    ) -> Result<Option<String>, BlankPart> {
        let constants = &workflow.document.constants;
        if constants.policy.is_empty() {
            return Ok(None);
        }
        let id = stable_node_id("policy", &constants.policy_ref)?;
        let mut node = SystemNode::new(id, self.tenant_id, NodeKind::Policy, constants.policy_ref.as_str());
        node.properties.insert("policy_set".into(), constants.policy_ref.as_str().into());
        let text = compact_utf8(&constants.policy.clone().into());
        node.properties.insert("sha256".into(), sha256_hex(text).into());
        Ok(Some(nodes.add(node)))
    }

    /// Whom a step reaches, as the id of an integration.
    fn reached(
        &self,
        node: &DocumentNode,
        provenance: Option<ProvenancePointer>,
        nodes: &mut Nodes,
    ) -> Result<Option<String>, BlankPart> {
        let text = |name: &str| node.with.get(name).and_then(Value::as_str).map(unquoted);
        let found = step_kind(&node.kind).and_then(|kind| integration::reached(kind.receiver, &text));
        let Some(found) = found else { return Ok(None) };
        Ok(Some(nodes.add(self.reached_node(&found, provenance.into_iter().collect())?)))
    }

    /// Whole lines of the workflow's file.
    fn place(
        &self,
        workflow: &SystemWorkflow<'_>,
        found: &WorkflowIndex<'_>,
        (first, last): (usize, usize),
    ) -> ProvenancePointer {
        ProvenancePointer {
            tenant_id: self.tenant_id.to_owned(),
            kind: ProvenanceKind::File,
            source_id: workflow.source_file.to_owned(),
            locator: Some(format!("L{first}-L{last}")),
            sha256: Some(sha256_hex(found.text(first, last))),
            metadata: Object::new(),
        }
    }
}

/// What a step reaches, and the operation that it is, also where that reaches nothing.
fn effects(node: &DocumentNode) -> EffectAnnotation {
    if INNER.contains(&node.kind.as_str()) {
        return EffectAnnotation::default();
    }
    let mut effects = step_effects(node);
    if !effects.tools.contains(&node.kind) {
        effects.tools.insert(0, node.kind.clone());
    }
    effects
}

fn contract(
    workflow: &SystemWorkflow<'_>,
    node: &DocumentNode,
    found: &WorkflowIndex<'_>,
) -> Result<OperationalContract, BlankPart> {
    let attempts = u64::from(node.retry.max).saturating_add(1);
    let seconds = u64::from(node.timeout_ms).saturating_mul(attempts).div_ceil(1000);
    // The specification asks for at least one key on either side.
    let filled = |keys: Vec<String>, otherwise: &str| {
        if keys.is_empty() { vec![otherwise.to_owned()] } else { keys }
    };
    Ok(OperationalContract {
        contract_id: runtime_contract_id(&workflow.document.flow.name, &node.id)?,
        contract_category: ContractCategory::Runtime,
        triggers: triggers(workflow, found.before(&node.id)),
        io_contract: IoContract {
            input_keys: filled(node.with.keys().cloned().collect(), "input"),
            output_keys: filled(found.used_fields(&node.id), "output"),
            schema: None,
        },
        state_machine: None,
        // A document's timeout of 0 means no timeout.
        runtime_budget: Some(OperationalBudget {
            max_seconds: (seconds > 0).then(|| seconds.into()),
            max_steps: Some(attempts.into()),
            max_tokens: None,
        }),
        acceptance: None,
    })
}

/// What sets a step off: the steps before it; for the first one a request, and what the workflow names.
fn triggers(workflow: &SystemWorkflow<'_>, before: &[&str]) -> Vec<ContractTrigger> {
    let trigger =
        |trigger_id: String, source: String, details: Object| ContractTrigger { trigger_id, source, details };
    if !before.is_empty() {
        let details = [("after".to_owned(), Value::from(before.to_vec()))].into_iter().collect();
        return vec![trigger("t_upstream".to_owned(), "exec.edge".to_owned(), details)];
    }
    let named = workflow.triggers.iter().enumerate().map(|(index, row)| {
        let kind = row.get("kind").and_then(Value::as_str).unwrap_or("event");
        let details = row.as_object().cloned().unwrap_or_default();
        trigger(format!("t_{kind}_{}", index + 1), format!("trigger.{kind}"), details)
    });
    let request = trigger("t_request".to_owned(), "exec.request".to_owned(), Object::new());
    std::iter::once(request).chain(named).collect()
}

/// Workflows keep the quotes around their texts.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.or_else(|| text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''))).unwrap_or(text)
}
