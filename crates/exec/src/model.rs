//! The exec document as plain data. Properties the specification does not name are kept in `extra`.

use stave_canon::{Object, Value};
use stave_shape::{Definitions, Place, Reader, Shape, ValueNode, words_schema};

use crate::baked_policy;
use crate::codec::{IDENTIFIER, count, time_text};
use crate::dataflow;

/// What runs, in what order, under which baked policy. Beyond the schema, node ids are unique, edges join existing nodes
/// and `generated_at` is in UTC.
#[derive(Debug, Clone, PartialEq, Shape)]
pub struct Document {
    /// The version of the form.
    #[shape(not_empty)]
    pub version: String,
    pub flow: FlowHeader,
    pub constants: Constants,
    /// A JSON Schema fragment, or metadata that the runtime passes through.
    pub inputs_schema: Object,
    pub graph: DocumentGraph,
    pub metadata: DocumentMetadata,
    #[shape(rest)]
    pub extra: Object,
}

#[derive(Debug, Clone, PartialEq, Eq, Shape)]
pub struct FlowHeader {
    #[shape(not_empty, pattern = IDENTIFIER)]
    pub name: String,
    /// The longest the whole run may take; 0 sets no limit of its own.
    #[shape(with = count)]
    pub timeout_ms: u32,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub struct Constants {
    /// The name of the policy.
    #[shape(rename = "policyRef", not_empty)]
    pub policy_ref: String,
    /// Read-only to every runtime.
    #[shape(with = baked_policy)]
    pub policy: Object,
}

#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "Graph")]
pub struct DocumentGraph {
    #[shape(filled)]
    pub nodes: Vec<DocumentNode>,
    pub edges: Vec<DocumentEdge>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "Node", check = dataflow::check_node)]
pub struct DocumentNode {
    #[shape(not_empty, pattern = IDENTIFIER)]
    pub id: String,
    /// The step kind.
    #[shape(rename = "type", not_empty)]
    pub kind: String,
    /// The step's arguments.
    pub with: Object,
    /// The longest one attempt may take; 0 sets no limit of its own.
    #[shape(with = count)]
    pub timeout_ms: u32,
    pub retry: Retry,
    #[shape(rest)]
    pub extra: Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Shape)]
pub struct Retry {
    /// Attempts after the first.
    #[shape(with = count)]
    pub max: u32,
    /// The wait before an attempt is repeated.
    #[shape(with = count)]
    pub backoff_ms: u32,
}

#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "Edge", check = dataflow::check_edge)]
pub struct DocumentEdge {
    #[shape(not_empty, pattern = IDENTIFIER)]
    pub from: String,
    #[shape(not_empty, pattern = IDENTIFIER)]
    pub to: String,
    pub on: On,
    #[shape(rest)]
    pub extra: Object,
}

/// Why an edge is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    Success,
    Failure,
    /// A reason that a later minor version has. It is kept, and the edge is never taken.
    Later(String),
}

impl On {
    const WORDS: &[&str] = &["success", "failure"];

    /// The word in documents.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            On::Success => "success",
            On::Failure => "failure",
            On::Later(word) => word,
        }
    }
}

impl Shape for On {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        // A document of a later version may have words that only that version knows.
        if !reader.closed
            && let Some(word) = node.text().filter(|word| !word.is_empty() && !On::WORDS.contains(word))
        {
            return Some(On::Later(word.to_owned()));
        }
        match reader.word(node, at, On::WORDS)? {
            0 => Some(On::Success),
            _ => Some(On::Failure),
        }
    }

    fn write(&self) -> Value {
        self.word().into()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.named("On", |_| words_schema("Why an edge is taken.", On::WORDS))
    }
}

#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(name = "Metadata")]
pub struct DocumentMetadata {
    /// RFC 3339, UTC, as written.
    #[shape(not_empty, with = time_text)]
    pub generated_at: String,
    #[shape(not_empty)]
    pub source_file: String,
    #[shape(rest)]
    pub extra: Object,
}

impl Document {
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&DocumentNode> {
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
