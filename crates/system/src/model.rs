//! The system line's data: a document of typed nodes.
//!
//! Ids, names, tenants and dependencies of nodes are kept as they were written; the canonical form, which
//! is what is hashed and stored, takes the white space around them away.

mod contract;

use stave_canon::Object;
use stave_shape::Shape;

use crate::codec::leaves::{dependencies, provenance_rows, sha256, strings, stripped, text, trimmed};
use crate::verify::invariants;

pub use contract::{
    AcceptanceCriteria, ContractCategory, ContractTrigger, IoContract, OperationalBudget,
    OperationalContract, StateMachineContract, StateTransition,
};

/// The word that marks a document of this line.
pub const SCHEMA_KIND: &str = "akc_ir";

/// A persisted system document.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemDocument {
    pub version: SystemVersion,
    pub tenant_id: String,
    pub repo_id: String,
    pub nodes: Vec<SystemNode>,
}

/// The pair of `schema_version` and `format_version`. There is no difference in what the two may hold, but
/// the version is part of the fingerprint and is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SystemVersion {
    V1,
    #[default]
    V2,
}

/// One part of the system.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "Node", open, check = invariants::node)]
pub struct SystemNode {
    /// Unique in the document.
    #[shape(stand_in, with = text)]
    pub id: String,
    /// The document's tenant.
    #[shape(stand_in, with = text)]
    pub tenant_id: String,
    #[shape(default = NodeKind::Other)]
    pub kind: NodeKind,
    /// What people call it.
    #[shape(stand_in, with = text)]
    pub name: String,
    /// What is known about it.
    #[shape(stand_in)]
    pub properties: Object,
    /// Ids of the nodes this one needs.
    #[shape(default, null_is_absent, with = dependencies)]
    pub depends_on: Vec<String>,
    pub effects: Option<EffectAnnotation>,
    /// Where it came from.
    #[shape(default, null_is_absent, with = provenance_rows)]
    pub provenance: Vec<ProvenancePointer>,
    pub contract: Option<OperationalContract>,
}

/// What a node may touch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Shape)]
#[shape(open)]
pub struct EffectAnnotation {
    /// Whether it uses the network.
    #[shape(default)]
    pub network: bool,
    /// Paths that it reads.
    #[shape(default, with = strings)]
    pub fs_read: Vec<String>,
    /// Paths that it writes.
    #[shape(default, with = strings)]
    pub fs_write: Vec<String>,
    /// Names of the secrets that it uses.
    #[shape(default, with = strings)]
    pub secrets: Vec<String>,
    /// Tools that it calls.
    #[shape(default, with = strings)]
    pub tools: Vec<String>,
}

/// Where a node came from.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub struct ProvenancePointer {
    /// The node's tenant.
    #[shape(stand_in, with = stripped)]
    pub tenant_id: String,
    #[shape(default = ProvenanceKind::Other)]
    pub kind: ProvenanceKind,
    /// The source, such as a path.
    #[shape(stand_in, with = stripped)]
    pub source_id: String,
    /// The place in the source.
    #[shape(with = trimmed)]
    pub locator: Option<String>,
    /// 64 lowercase hexadecimal digits.
    #[shape(with = sha256)]
    pub sha256: Option<String>,
    /// What else is known about the source.
    #[shape(default, null_is_absent, omit_default)]
    pub metadata: Object,
}

/// Gives a closed set of words its type: the words in the specification's order.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, stave_shape::Shape)]
        #[shape(words)]
        pub enum $name { $(#[shape(rename = $word)] $variant,)* }
    };
}
pub(crate) use words;

words! {
    /// What a node is.
    NodeKind {
        Service = "service",
        Workflow = "workflow",
        Intent = "intent",
        Entity = "entity",
        Knowledge = "knowledge",
        Integration = "integration",
        Policy = "policy",
        Agent = "agent",
        Infrastructure = "infrastructure",
        Other = "other",
    }
}

words! {
    /// What kind of source a provenance row points into.
    ProvenanceKind {
        DocChunk = "doc_chunk",
        Message = "message",
        OpenapiOperation = "openapi_operation",
        File = "file",
        Other = "other",
    }
}

impl NodeKind {
    /// Whether nodes of this kind are brought up by a deployment.
    #[must_use]
    pub fn is_deployable(self) -> bool {
        use NodeKind::{Agent, Infrastructure, Integration, Service};
        matches!(self, Service | Integration | Infrastructure | Agent)
    }
}

impl SystemVersion {
    pub const ALL: [SystemVersion; 2] = [SystemVersion::V1, SystemVersion::V2];

    #[must_use]
    pub fn schema_version(self) -> i64 {
        match self {
            SystemVersion::V1 => 1,
            SystemVersion::V2 => 2,
        }
    }

    #[must_use]
    pub fn format_version(self) -> &'static str {
        match self {
            SystemVersion::V1 => "1.0",
            SystemVersion::V2 => "2.0",
        }
    }
}

impl SystemNode {
    /// A node with nothing but what every node has.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        tenant_id: impl Into<String>,
        kind: NodeKind,
        name: impl Into<String>,
    ) -> Self {
        SystemNode {
            id: id.into(),
            tenant_id: tenant_id.into(),
            kind,
            name: name.into(),
            properties: Object::new(),
            depends_on: Vec::new(),
            effects: None,
            provenance: Vec::new(),
            contract: None,
        }
    }
}
