//! The flow line as plain data: what the author wrote, with the place of every field.
//!
//! Invariants: every span points into the file the flow was read from. A required field is an `Option`
//! only because a broken text may lack it; `None` then means that an error about it was reported, so in
//! a flow without errors every such field is there. A field that may be left out is a [`Readable`] where some rule
//! reports its absence or something else replaces it; it is an `Option` where nobody asks why it is not there.

mod deployment;
mod each;
mod edge;
mod extra;
mod limits;
mod node;
mod prompt;
mod readable;
mod runtime;
mod test;
mod transform;

use stave_diag::{SourceId, Span};

pub use deployment::{ContextSource, Deployment, DeploymentContext, DeploymentTarget, Kserve, Resources};
pub use each::Each;
pub use edge::{Edge, Endpoint, INPUT, OUTPUT};
pub use extra::Extra;
pub use limits::{Budget, FlowRuntime};
pub use node::{CanvasPosition, Node, NodeType, Port};
pub use prompt::{Fallback, Model, Prompt, ToolDeclaration, Trigger};
pub use readable::{NodeMap, Readable, ReadableList};
pub use runtime::{Backend, Cache, DEFAULT_RETRIES, DEFAULT_RETRY_BACKOFF_MS, DEFAULT_TIMEOUT_MS};
pub use runtime::{DEFAULT_STATE_KEY, NodeStateScope, Runtime, State};
pub use stave_vocabulary::{PortType, Sensitivity};
pub use stave_yaml::{Spanned, Text};
pub use test::{Expectation, ExpectedStatus, FlowTest};
pub use transform::{Operation, Transform, TransformMode, TransformSpec};

/// A whole flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    pub source: SourceId,
    /// The document's mapping.
    pub span: Span,
    pub version: Option<Spanned<FormatVersion>>,
    pub metadata: Metadata,
    pub context: Context,
    /// By id, in file order. A node that is no mapping is unreadable.
    pub nodes: NodeMap,
    /// In file order.
    pub edges: ReadableList<Edge>,
    pub deployment: Readable<Deployment>,
    /// What a run of the whole flow may take.
    pub runtime: Option<FlowRuntime>,
    pub tests: Vec<FlowTest>,
    /// The keys that version 1.0 does not have, in file order.
    pub later_fields: Vec<LaterField>,
    pub extra: Vec<Extra>,
}

/// The version of the flow format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatVersion {
    pub major: u64,
    pub minor: u64,
    /// Whether it was written as text, as the specification has it.
    pub quoted: bool,
}

impl FormatVersion {
    /// The latest format that this crate reads.
    pub const CURRENT: FormatVersion = FormatVersion { major: 1, minor: 1, quoted: true };
}

/// A key that a later version of the format added to what 1.0 has.
#[derive(Debug, Clone, PartialEq)]
pub struct LaterField {
    pub key: Span,
    /// Whose field it is, as messages name it.
    pub path: String,
    /// The minor version that has it first.
    pub since: u64,
}

/// Who and what the flow is.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    pub span: Span,
    pub name: Option<Text>,
    pub description: Option<Text>,
    pub author: Option<Text>,
    pub created_at: Option<Text>,
    pub modified_at: Option<Text>,
    pub tags: ReadableList<Text>,
    pub extra: Vec<Extra>,
}

/// The fields of the request that the flow reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    pub span: Span,
    pub requires: ReadableList<Text>,
    pub optional: ReadableList<Text>,
    /// How confidential fields are, by name, in file order.
    pub sensitivity: Vec<(Spanned<String>, Spanned<Sensitivity>)>,
    pub extra: Vec<Extra>,
}

/// Context fields that the engine always provides.
pub const BUILT_IN_CONTEXT: [&str; 4] = ["event_time", "trace_id", "run_id", "auth"];

impl Context {
    /// The declared fields, required ones first, in file order.
    pub fn fields(&self) -> impl Iterator<Item = &Text> {
        self.requires.iter().chain(&self.optional)
    }

    /// Whether every declared field was read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.requires.is_complete() && self.optional.is_complete()
    }

    /// Whether the request may or must have a field of this name.
    #[must_use]
    pub fn declares(&self, name: &str) -> bool {
        self.fields().any(|field| field.as_str() == name)
    }
}
