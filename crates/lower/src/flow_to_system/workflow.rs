//! Exec documents that no flow was written for: a workflow node per exec node, from what the document says.

use stave_canon::{Object, Value, sha256_hex};
use stave_system::model::{
    ContractCategory, ContractTrigger, EffectAnnotation, IoContract, OperationalBudget, OperationalContract,
    ProvenanceKind, ProvenancePointer,
};
use stave_system::{BlankPart, Node, NodeKind, runtime_contract_id, stable_node_id};

use super::{Lowering, Nodes, SystemWorkflow};

impl<'f> Lowering<'f> {
    pub(super) fn workflow(&self, workflow: &SystemWorkflow<'f>, nodes: &mut Nodes) -> Result<(), BlankPart> {
        let name = workflow.document.flow.name.as_str();
        let id_of = |node: &str| stable_node_id("workflow", &format!("{name}:{node}"));
        let provenance = ProvenancePointer {
            tenant_id: self.tenant_id.to_owned(),
            kind: ProvenanceKind::File,
            source_id: workflow.source_file.to_owned(),
            locator: None,
            sha256: Some(sha256_hex(workflow.source_text)),
            metadata: Object::new(),
        };
        for (index, node) in workflow.document.graph.nodes.iter().enumerate() {
            let edges = workflow.document.graph.edges.iter();
            let before =
                edges.filter(|edge| edge.to == node.id && edge.from != node.id).map(|edge| id_of(&edge.from));
            let properties = [
                ("plan_id", Value::from(name)),
                ("step_id", node.id.as_str().into()),
                ("step_kind", node.kind.as_str().into()),
                ("order_idx", index.into()),
            ];
            let is_remote = node.kind.starts_with("http") || node.kind.starts_with("llm");
            nodes.add(Node {
                properties: properties.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                depends_on: before.collect::<Result<_, _>>()?,
                effects: Some(EffectAnnotation {
                    network: is_remote,
                    tools: vec![node.kind.clone()],
                    ..EffectAnnotation::default()
                }),
                provenance: vec![provenance.clone()],
                contract: Some(contract(name, node)?),
                ..Node::new(id_of(&node.id)?, self.tenant_id, NodeKind::Workflow, node.id.as_str())
            });
        }
        Ok(())
    }
}

fn contract(name: &str, node: &stave_exec::Node) -> Result<OperationalContract, BlankPart> {
    let attempts = u64::from(node.retry.max).saturating_add(1);
    let seconds = u64::from(node.timeout_ms).saturating_mul(attempts).div_ceil(1000);
    Ok(OperationalContract {
        contract_id: runtime_contract_id(name, &node.id)?,
        contract_category: ContractCategory::Runtime,
        triggers: vec![ContractTrigger {
            trigger_id: "t_upstream".to_owned(),
            source: "exec.edge".to_owned(),
            details: Object::new(),
        }],
        io_contract: IoContract {
            input_keys: vec!["input".to_owned()],
            output_keys: vec!["output".to_owned()],
            schema: None,
        },
        state_machine: None,
        // A document's timeout of 0 is none.
        runtime_budget: Some(OperationalBudget {
            max_seconds: (seconds > 0).then(|| seconds.into()),
            max_steps: Some(attempts.into()),
            max_tokens: None,
        }),
        acceptance: None,
    })
}
