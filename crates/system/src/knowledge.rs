//! The knowledge layer's nodes: one hub, and an entity for each constraint and decision.

use stave_canon::{Object, Value};

use crate::model::ProvenancePointer;
use crate::{NodeKind, SystemNode, stable_node_id};

/// Where the one project of an output folder keeps what it knows.
pub const SNAPSHOT_PATH: &str = ".akc/knowledge/snapshot.json";

/// Where one of several projects keeps what it knows. What a tenant knows is never in the file of another one.
#[must_use]
pub fn snapshot_path_of(run_id: &str) -> String {
    format!(".akc/knowledge/{run_id}.snapshot.json")
}

/// What the hub says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hub {
    pub assertion_ids: Vec<String>,
    /// Of what is known.
    pub semantic: Option<String>,
    /// Of where it is known from.
    pub provenance: Option<String>,
    /// Where the snapshot is, when it is not at [`SNAPSHOT_PATH`].
    pub snapshot_path: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assertion {
    Constraint,
    Decision,
}

impl Assertion {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Assertion::Constraint => "constraint",
            Assertion::Decision => "decision",
        }
    }
}

/// The hub of a plan's knowledge layer; `None` for a blank plan.
#[must_use]
pub fn hub(tenant_id: &str, plan_id: &str, depends_on: Option<&str>, hub: &Hub) -> Option<SystemNode> {
    let id = stable_node_id("knowledge", &format!("layer:{plan_id}")).ok()?;
    let mut properties = Object::new();
    properties.insert("plan_id".into(), plan_id.into());
    let snapshot_path = hub.snapshot_path.as_deref().unwrap_or(SNAPSHOT_PATH);
    properties.insert("persisted_snapshot_relpath".into(), snapshot_path.into());
    properties.insert("knowledge_assertion_ids".into(), hub.assertion_ids.clone().into());
    let fingerprints = [("semantic", &hub.semantic), ("provenance", &hub.provenance)];
    for (word, fingerprint) in fingerprints {
        if let Some(fingerprint) = fingerprint {
            properties.insert(format!("knowledge_{word}_fingerprint_16"), fingerprint.as_str().into());
        }
    }
    let depends_on = depends_on.map(str::to_owned).into_iter().collect();
    Some(SystemNode {
        properties,
        depends_on,
        ..SystemNode::new(id, tenant_id, NodeKind::Knowledge, "knowledge_layer")
    })
}

/// The entity of one assertion; `None` for a blank assertion.
#[must_use]
pub fn entity(
    tenant_id: &str,
    plan_id: &str,
    hub: &str,
    kind: Assertion,
    assertion_id: &str,
    members: Object,
    provenance: Vec<ProvenancePointer>,
) -> Option<SystemNode> {
    let id = stable_node_id("entity", &format!("{}:{assertion_id}", kind.word())).ok()?;
    let mut properties: Object = [
        ("plan_id".to_owned(), Value::from(plan_id)),
        ("assertion_id".to_owned(), Value::from(assertion_id)),
    ]
    .into_iter()
    .collect();
    properties.extend(members);
    let name = format!("knowledge_{}:{assertion_id}", kind.word());
    Some(SystemNode {
        properties,
        depends_on: vec![hub.to_owned()],
        provenance,
        ..SystemNode::new(id, tenant_id, NodeKind::Entity, name)
    })
}
