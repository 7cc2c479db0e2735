//! Flow to system: what the flows of a project are, whose they are, and what they may touch.
//!
//! Every flow becomes an intent node and a workflow node per flow node; what the flows reach becomes
//! integration nodes, what they remember entity nodes, their policy a policy node, where they are served
//! an infrastructure node. A node that several flows share is one node.
//!
//! Invariant: the document depends on the flows, the settings and the knowledge only, belongs to one
//! tenant, and every node that has a place in a file points at it.

mod deployment;
mod effects;
mod integration;
mod intent;
mod knowledge;
mod node;
mod provenance;
mod workflow;
mod workflow_index;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use stave_canon::Value;
use stave_diag::Sources;
use stave_flow::model::{Flow, Text};
use stave_system::bundle::Intent;
use stave_system::model::ProvenancePointer;
use stave_system::{BlankPart, LoadError, SystemDocument, SystemNode, SystemVersion};

use crate::DefaultModel;

pub(crate) use effects::secret_names;
pub use knowledge::{Knowledge, KnowledgeFile, read_knowledge};

/// What the project adds to its flows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SystemSettings {
    pub tenant_id: String,
    pub repo_id: String,
    /// The name of the policy set.
    pub policy_ref: String,
    /// Of the policy set's text, when the project has one of its own.
    pub policy_sha256: Option<String>,
    /// The model of prompts that name none.
    pub default_model: Option<DefaultModel>,
    /// Where the snapshot of what the project knows is kept, below the output folder.
    pub snapshot_path: String,
}

/// A flow with the name that its file has in the project.
#[derive(Debug, Clone, Copy)]
pub struct SystemFlow<'f> {
    pub flow: &'f Flow,
    pub source_file: &'f str,
}

/// A document of the exec line that no flow was written for.
#[derive(Debug, Clone, Copy)]
pub struct SystemWorkflow<'f> {
    pub document: &'f stave_exec::Document,
    pub source_file: &'f str,
    pub source_text: &'f str,
    /// What starts it, as the compiler of workflows writes it.
    pub triggers: &'f [Value],
}

/// Everything that one document is made from.
#[derive(Debug, Clone, Copy)]
pub struct SystemSource<'f> {
    pub flows: &'f [SystemFlow<'f>],
    pub workflows: &'f [SystemWorkflow<'f>],
    pub sources: &'f Sources,
    pub settings: &'f SystemSettings,
    pub knowledge: Option<&'f Knowledge>,
}

/// Lowers the flows of a project, which have no errors, to one document.
pub fn flow_to_system(source: SystemSource<'_>) -> Result<SystemDocument, LoadError> {
    let lowering =
        Lowering { source, tenant_id: source.settings.tenant_id.trim(), hashes: RefCell::default() };
    let mut nodes = Nodes::default();
    for flow in source.flows {
        // Names that make an id blank are refused by the checks before this.
        let _ = lowering.flow(flow, &mut nodes);
    }
    for workflow in source.workflows {
        let _ = lowering.workflow(workflow, &mut nodes);
    }
    let document = SystemDocument {
        version: SystemVersion::default(),
        tenant_id: lowering.tenant_id.to_owned(),
        repo_id: source.settings.repo_id.trim().to_owned(),
        nodes: nodes.finish(),
    };
    document.checked()
}

/// The intent behind a document that was lowered from flows: what its intent nodes say, and the network
/// exactly when one of its nodes uses it.
#[must_use]
pub fn system_intent(document: &SystemDocument) -> Intent {
    Intent::from_spec(intent::spec(document))
}

struct Lowering<'f> {
    source: SystemSource<'f>,
    tenant_id: &'f str,
    /// The hashes of lines of files, by file, first and last line. A flow that is written on one line has all its nodes
    /// there.
    hashes: RefCell<HashMap<(u32, u32, u32), String>>,
}

impl<'f> Lowering<'f> {
    fn flow(&self, flow: &SystemFlow<'f>, nodes: &mut Nodes) -> Result<(), BlankPart> {
        let name = flow_name(flow.flow);
        let intent = nodes.add(self.intent(flow, name)?);
        let base = self.base(intent, nodes);
        let infrastructure = self.infrastructure(flow, name)?.map(|node| nodes.add(node));
        let policy = self.policy(nodes)?;
        self.nodes_of(flow, name, &node::Shared { base, infrastructure, policy }, nodes)
    }

    /// What the first nodes of a flow or workflow depend on: its intent, and what the project knows.
    fn base(&self, intent: String, nodes: &mut Nodes) -> Vec<String> {
        let settings = self.source.settings;
        let hub = self.source.knowledge.map(|knowledge| {
            knowledge.nodes(self.tenant_id, &settings.repo_id, &settings.snapshot_path, nodes)
        });
        std::iter::once(intent).chain(hub).collect()
    }

    /// The policy set, on which every prompt depends.
    fn policy(&self, nodes: &mut Nodes) -> Result<String, BlankPart> {
        let settings = self.source.settings;
        let id = stave_system::stable_node_id("policy", &settings.policy_ref)?;
        let mut node =
            SystemNode::new(id, self.tenant_id, stave_system::NodeKind::Policy, settings.policy_ref.as_str());
        node.properties.insert("policy_set".into(), settings.policy_ref.as_str().into());
        if let Some(sha256) = &settings.policy_sha256 {
            node.properties.insert("sha256".into(), sha256.as_str().into());
        }
        Ok(nodes.add(node))
    }
}

/// The nodes so far, by id.
#[derive(Debug, Default)]
struct Nodes(BTreeMap<String, SystemNode>);

impl Nodes {
    /// All nodes, each with a place once. A service that many steps reach comes from as many places, so equal places are
    /// removed here and not at every merge.
    fn finish(self) -> Vec<SystemNode> {
        let mut nodes: Vec<SystemNode> = self.0.into_values().collect();
        for node in nodes.iter_mut().filter(|node| node.provenance.len() > 1) {
            let mut seen = HashSet::new();
            node.provenance.retain(|row| {
                let rest = (row.kind.word(), Value::from(row.metadata.clone()).to_string());
                seen.insert((row.source_id.clone(), row.locator.clone(), row.sha256.clone(), rest))
            });
        }
        nodes
    }

    /// Adds a node, or merges it with the one that is there: a shared node touches what either touches and
    /// comes from where either comes from.
    fn add(&mut self, node: SystemNode) -> String {
        let id = node.id.clone();
        match self.0.get_mut(&id) {
            None => {
                self.0.insert(id.clone(), node);
            }
            Some(known) => merge(known, node),
        }
        id
    }
}

fn merge(known: &mut SystemNode, other: SystemNode) {
    known.depends_on.extend(other.depends_on);
    known.depends_on.sort();
    known.depends_on.dedup();
    if let (Some(effects), Some(more)) = (&mut known.effects, other.effects) {
        effects::add(effects, more);
    }
    known.provenance.extend(other.provenance);
    for (key, value) in other.properties {
        match known.properties.get_mut(&key) {
            Some(Value::Array(items)) => {
                if let Value::Array(more) = value {
                    items.extend(more.into_iter().filter(|item| !items.contains(item)).collect::<Vec<_>>());
                    items.sort_by_key(ToString::to_string);
                }
            }
            Some(_) => {}
            None => {
                known.properties.insert(key, value);
            }
        }
    }
}

fn flow_name(flow: &Flow) -> &str {
    flow.metadata.name.as_ref().map_or("flow", Text::as_str)
}

/// Rows of a node that has one place.
fn rows(row: Option<ProvenancePointer>) -> Vec<ProvenancePointer> {
    row.into_iter().collect()
}
