//! The exec document as plain data. Properties the specification does not name are kept in `extra`.

use stave_canon::{Object, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    pub version: String,
    pub flow: FlowHeader,
    pub constants: Constants,
    /// A JSON Schema fragment, or metadata that the runtime passes through.
    pub inputs_schema: Object,
    pub graph: Graph,
    pub metadata: Metadata,
    pub extra: Object,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowHeader {
    pub name: String,
    /// The longest the whole run may take; 0 sets no limit of its own.
    pub timeout_ms: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Constants {
    pub policy_ref: String,
    /// Read-only to every runtime.
    pub policy: Object,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub id: String,
    /// The step kind; JSON calls it `type`.
    pub kind: String,
    pub with: Object,
    /// The longest one attempt may take; 0 sets no limit of its own.
    pub timeout_ms: u32,
    pub retry: Retry,
    pub extra: Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retry {
    /// Attempts after the first.
    pub max: u32,
    pub backoff_ms: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub on: On,
    pub extra: Object,
}

/// Why an edge is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    Success,
    Failure,
}

impl On {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            On::Success => "success",
            On::Failure => "failure",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// RFC 3339, UTC, as written.
    pub generated_at: String,
    pub source_file: String,
    pub extra: Object,
}

impl Document {
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.graph.nodes.iter().find(|node| node.id == id)
    }

    /// The step kinds in use, sorted, each once.
    #[must_use]
    pub fn step_kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.graph.nodes.iter().map(|node| node.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// `sha256:` of the canonical inputs schema, as the manifest records it.
    #[must_use]
    pub fn inputs_schema_hash(&self) -> String {
        let schema = Value::Object(self.inputs_schema.clone());
        format!("sha256:{}", stave_canon::sha256_of(&schema, &stave_canon::Layout::COMPACT_UTF8))
    }

    /// A fingerprint of what runs: everything but `metadata.generated_at`.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut value = crate::to_value(self);
        if let Some(metadata) = value.as_object_mut().and_then(|object| object.get_mut("metadata"))
            && let Some(metadata) = metadata.as_object_mut()
        {
            metadata.shift_remove("generated_at");
        }
        stave_canon::sha256_of(&value, &stave_canon::Layout::COMPACT_UTF8)
    }
}
