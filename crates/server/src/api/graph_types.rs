//! A flow's graph as the studio draws it.

use stave_canon::Value;
use stave_flow::model::{PortType, Sensitivity};
use stave_flow::types::Connection;
use stave_shape::{Nullable, Shape};

use super::text_types::Range;

/// Conversion of a value along an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(words)]
pub(crate) enum Cast {
    None,
    Text,
    SingleRow,
}

impl Cast {
    pub(crate) fn of(connection: Connection) -> Cast {
        match connection {
            Connection::Same => Cast::None,
            Connection::CastToString => Cast::Text,
            Connection::SingleRow => Cast::SingleRow,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<GraphEdge>,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct GraphNode {
    pub(crate) id: String,
    pub(crate) kind: NodeKind,
    pub(crate) op: Nullable<String>,
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
    pub(crate) error: Nullable<Port>,
    /// Position in the flow file.
    pub(crate) position: Nullable<Point>,
    /// Position on the canvas.
    pub(crate) layout: Point,
    pub(crate) range: Nullable<Range>,
    pub(crate) state: Nullable<StateScope>,
    pub(crate) effects: bool,
    /// Whether only a model or a loop calls the node: it has no edges.
    pub(crate) tool_only: bool,
    pub(crate) model: Nullable<String>,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum NodeKind {
    Input,
    Output,
    Prompt,
    Code,
    Op,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum StateScope {
    Request,
    Session,
}

#[derive(Debug, Clone, Copy, PartialEq, Shape)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Port {
    pub(crate) name: String,
    #[shape(rename = "type")]
    pub(crate) port_type: Nullable<PortType>,
    pub(crate) optional: bool,
    pub(crate) description: Nullable<String>,
    pub(crate) sensitivity: Nullable<Sensitivity>,
    pub(crate) accepts: Nullable<Sensitivity>,
    pub(crate) schema: Value,
    pub(crate) connected: bool,
    pub(crate) range: Nullable<Range>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct GraphEdge {
    pub(crate) id: String,
    pub(crate) kind: EdgeKind,
    /// Index in the flow's list of edges; null for a call of a tool or of a loop.
    pub(crate) index: Nullable<u64>,
    pub(crate) from: EdgeEnd,
    pub(crate) to: EdgeEnd,
    /// Both ends as written in the flow.
    pub(crate) written: Nullable<WrittenEnds>,
    pub(crate) condition: Nullable<String>,
    pub(crate) transform: Nullable<String>,
    /// Whether the edge starts at an error port.
    pub(crate) error: bool,
    pub(crate) cast: Cast,
    /// Why the edge is broken: one of its ends does not exist.
    pub(crate) broken: Nullable<String>,
    pub(crate) range: Nullable<Range>,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(words)]
pub(crate) enum EdgeKind {
    Data,
    Tool,
    Each,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct EdgeEnd {
    pub(crate) node: String,
    pub(crate) port: Nullable<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct WrittenEnds {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A field of the request.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct RequestField {
    pub(crate) name: String,
    pub(crate) required: bool,
    #[shape(rename = "type")]
    pub(crate) port_type: Nullable<PortType>,
    pub(crate) schema: Value,
    pub(crate) description: Nullable<String>,
    pub(crate) sensitivity: Nullable<Sensitivity>,
}
