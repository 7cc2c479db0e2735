//! NodeMap and their ports.

use stave_diag::Span;
use stave_operations::{Descriptor, LLM_CHAT, PYTHON};
use stave_vocabulary::{PortType, Sensitivity};

use super::{Extra, Prompt, Readable, ReadableList, Runtime, Spanned, State, Text, Transform};
use crate::yaml::Tree;
use stave_canon::Number;

/// One step of the flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The key in `nodes`.
    pub id: Spanned<String>,
    /// The node's mapping.
    pub span: Span,
    /// The optional `id` field, which repeats the key.
    pub id_field: Readable<Text>,
    pub node_type: Option<Spanned<NodeType>>,
    pub inputs: ReadableList<Port>,
    pub outputs: ReadableList<Port>,
    pub error: Readable<Port>,
    pub prompt: Readable<Prompt>,
    /// Absent in a prompt node whose model result is its output.
    pub transform: Readable<Transform>,
    pub runtime: Runtime,
    pub state: Readable<State>,
    pub position: Option<CanvasPosition>,
    pub extra: Vec<Extra>,
}

impl Node {
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&Port> {
        self.inputs.iter().find(|port| port.name.as_str() == name)
    }

    #[must_use]
    pub fn output(&self, name: &str) -> Option<&Port> {
        self.outputs.iter().find(|port| port.name.as_str() == name)
    }

    /// The error port, when it has this name.
    #[must_use]
    pub fn error_port(&self, name: &str) -> Option<&Port> {
        self.error.as_ref().filter(|port| port.name.as_str() == name)
    }

    /// The name of the declarative operation, when the node runs one.
    #[must_use]
    pub fn op(&self) -> Option<&str> {
        self.transform.as_ref().and_then(Transform::op)
    }

    /// The kind of step that the node is run as.
    #[must_use]
    pub fn step_kind(&self) -> &str {
        match (self.prompt.as_ref(), self.op()) {
            (Some(_), _) => LLM_CHAT.name,
            (None, Some(op)) => op,
            (None, None) => PYTHON.name,
        }
    }

    /// The descriptor of the node's operation; `None` for code and for an unknown operation.
    #[must_use]
    pub fn descriptor(&self) -> Option<&'static Descriptor> {
        self.op().and_then(stave_operations::operation)
    }
}

/// What kind of step a node is. The format has one kind so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeType {
    Transform,
}

/// A place where a value enters or leaves a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Port {
    pub span: Span,
    pub name: Text,
    /// `object` for an error port that names none.
    pub port_type: Option<Spanned<PortType>>,
    /// Whether the author wrote the type.
    pub type_written: bool,
    pub schema: Option<Tree>,
    /// Read it with [`Port::is_required`] or [`Port::is_optional`].
    pub optional: Readable<bool>,
    pub description: Option<Text>,
    /// How confidential the value is.
    pub sensitivity: Option<Spanned<Sensitivity>>,
    /// The most confidential value that may come here; only for inputs.
    pub accepts: Option<Spanned<Sensitivity>>,
    pub extra: Vec<Extra>,
}

impl Port {
    /// Whether the author marked the port as optional.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        self.optional == Readable::Read(true)
    }

    /// Whether the port certainly needs a value. Neither this nor [`Port::is_optional`] holds when the mark cannot be
    /// read.
    #[must_use]
    pub fn is_required(&self) -> bool {
        matches!(self.optional, Readable::Read(false) | Readable::Absent)
    }
}

/// Where the visual editor draws the node.
#[derive(Debug, Clone, PartialEq)]
pub struct CanvasPosition {
    pub span: Span,
    pub x: Option<Spanned<Number>>,
    pub y: Option<Spanned<Number>>,
    pub extra: Vec<Extra>,
}
