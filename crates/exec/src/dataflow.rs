//! The typed ports and data edges that a lowered flow adds to an exec document.
//!
//! Specification 004 knows steps and transitions; it lets nodes and edges carry extra properties. A flow
//! uses that room to keep its ports, state, conditions and origins, so that a runtime that has only the
//! exec document can run it. `lower` writes these properties and `runtime` reads them; this module is
//! the one place that knows how they are spelt.
//!
//! A document of another compiler may use the same names for something else. So the properties of a node count only
//! when it has `inputs` or `outputs`, and unknown keys are ignored everywhere.
//!
//! Invariants: `NodeData::read(&data.write())` is `data`, and the same for edges. [`crate::read`] reports everything that
//! these readers refuse, so they read every node and edge of a document that came out of it.

use stave_canon::{Object, Value};
pub use stave_shape::Ordered;
use stave_shape::{Faults, Place, Reader, Shape, ValueNode};
pub use stave_vocabulary::PortType;

use crate::contract::StepContract;
use crate::spacing::{self, RetrySpacing};

/// What a flow node keeps beside the step.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(open, not_null)]
pub struct NodeData {
    #[shape(default)]
    pub inputs: Vec<StepPort>,
    #[shape(default)]
    pub outputs: Vec<StepPort>,
    /// The port that carries a failure.
    pub error: Option<StepPort>,
    pub state: Option<StepState>,
    /// The context fields that the step must be given.
    #[shape(default, omit_default)]
    pub requires_context: Vec<String>,
    /// How many runs of the step may be at work at the same time.
    pub concurrency: Option<u32>,
    pub cache: Option<StepCache>,
    /// Whether the step changes something outside the run, and so must not be repeated lightly.
    #[shape(default, omit_default)]
    pub effects: bool,
    /// Whether the step runs only when a model calls it as a tool.
    #[shape(default, omit_default)]
    pub tool: bool,
    pub origin: Option<Origin>,
    /// Where the texts inside `with` begin in the source, by the name of their key.
    #[shape(default, omit_default)]
    pub text_origins: Ordered<Origin>,
}

/// A place where a value enters or leaves a step.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open, not_null)]
pub struct StepPort {
    pub name: String,
    #[shape(rename = "type")]
    pub port_type: PortType,
    /// The JSON Schema of its values.
    pub schema: Option<Value>,
    #[shape(default, omit_default)]
    pub optional: bool,
    /// Where the values of an input port come from, in the words of the block line.
    pub provenance: Option<String>,
}

/// What a step remembers between runs or within one.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open, not_null)]
pub struct StepState {
    /// Whether the record outlives the run, within its session.
    #[shape(rename = "scope", with = session_scope)]
    pub session: bool,
    /// A template with `{path}` placeholders.
    pub key: String,
    pub ttl_seconds: Option<u32>,
    pub backend: String,
}

/// How long and by what a step's result is kept for later runs.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open, not_null)]
pub struct StepCache {
    pub ttl_seconds: u32,
    /// A template with `{path}` placeholders, in place of the inputs and the context.
    pub key: Option<String>,
    /// The context fields that the result may depend on; without it, all may matter.
    pub context: Option<Vec<String>>,
}

/// A line and column of `metadata.source_file`, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(open, not_null)]
pub struct Origin {
    pub line: u32,
    pub column: u32,
}

/// What a data edge keeps beside the transition.
#[derive(Debug, Clone, PartialEq, Default, Shape)]
#[shape(open, not_null)]
pub struct EdgeData {
    /// Absent on an edge that only orders.
    pub from_port: Option<String>,
    /// Absent on an edge into `_output` that carries the whole response.
    pub to_port: Option<String>,
    /// The case of a `switch` that takes the edge.
    pub case: Option<String>,
    pub condition: Option<String>,
    /// Whether the edge is active when no edge with a condition from the same port is.
    #[shape(rename = "else", default, omit_default)]
    pub otherwise: bool,
    pub transform: Option<String>,
    pub cast: Option<Cast>,
    pub origin: Option<Origin>,
}

/// A conversion that the type table asks for along an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub enum Cast {
    /// A number or a boolean as text.
    Text,
    /// A table of exactly one row as that row.
    SingleRow,
}

impl NodeData {
    /// The extra properties of a node; what is empty or absent is left out.
    #[must_use]
    pub fn write(&self) -> Object {
        object(Shape::write(self))
    }

    /// The flow's properties of a node, or `None` for a node that no flow was lowered to.
    pub fn read(extra: &Object) -> Result<Option<NodeData>, Faults> {
        if !has_ports(extra) {
            return Ok(None);
        }
        stave_shape::read(&Value::Object(extra.clone())).map(Some)
    }
}

impl EdgeData {
    /// The extra properties of an edge; what is absent is left out.
    #[must_use]
    pub fn write(&self) -> Object {
        object(Shape::write(self))
    }

    pub fn read(extra: &Object) -> Result<EdgeData, Faults> {
        stave_shape::read(&Value::Object(extra.clone()))
    }
}

impl Origin {
    /// The origin of a node, whatever it was compiled from.
    #[must_use]
    pub fn of(extra: &Object) -> Option<Origin> {
        stave_shape::read(extra.get("origin")?).ok()
    }
}

/// Whether a node has the properties of a flow.
#[must_use]
pub fn has_ports(extra: &Object) -> bool {
    PORT_LISTS.iter().any(|key| extra.contains_key(*key))
}

/// The names of a node's input ports. They can be read when other properties of the node cannot; an input without a name
/// is one that nothing can refer to.
pub fn input_names(extra: &Object) -> impl Iterator<Item = &str> {
    let ports = extra.get("inputs").and_then(Value::as_array).unwrap_or_default();
    ports.iter().filter_map(|port| port.get("name")?.as_str())
}

/// The keys that tell a flow's node from others.
pub(crate) const PORT_LISTS: [&str; 2] = ["inputs", "outputs"];

/// Reports what a runtime would refuse in the extra properties of a node.
pub(crate) fn check_node<N: ValueNode, T>(_: Option<&T>, node: N, at: &Place<'_>, reader: &mut Reader) {
    if PORT_LISTS.iter().any(|key| node.member(key).is_some()) {
        <NodeData as Shape>::read(node, at, reader);
    }
    if let Some(contract) = node.member(StepContract::PROPERTY) {
        <StepContract as Shape>::read(contract, &at.key(StepContract::PROPERTY), reader);
    }
    if let Some(spacing) = node.member(spacing::PROPERTY) {
        <RetrySpacing as Shape>::read(spacing, &at.key(spacing::PROPERTY), reader);
    }
}

/// The same for an edge.
pub(crate) fn check_edge<N: ValueNode, T>(_: Option<&T>, node: N, at: &Place<'_>, reader: &mut Reader) {
    <EdgeData as Shape>::read(node, at, reader);
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// How long a state lives, as one of two words.
mod session_scope {
    use stave_shape::{Definitions, Place, Reader, Value, ValueNode, words_schema};

    const WORDS: &[&str] = &["request", "session"];

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<bool> {
        reader.word(node, at, WORDS).map(|index| index == 1)
    }

    pub(super) fn write(session: &bool) -> Value {
        WORDS[usize::from(*session)].into()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        words_schema("", WORDS)
    }
}
