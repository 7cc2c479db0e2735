//! Random graphs: nodes that add numbers up, edges with conditions, error routes, optional ports, several
//! feeders, and failures.

use proptest::prelude::*;
use stave_canon::{Object, Value};
use stave_exec::dataflow::{EdgeData, NodeData, PortType, StepPort};
use stave_exec::{
    Constants, Document, DocumentEdge, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, On, Retry,
};

/// The kind of the steps that the tests script.
pub(crate) const SCRIPTED: &str = "test.scripted";

/// What an error edge carries in place of the error, so that every value is a number.
pub(crate) const ERROR_VALUE: i64 = 7;

#[derive(Debug, Clone)]
pub(crate) struct Sketch {
    pub(crate) nodes: Vec<SketchNode>,
    pub(crate) edges: Vec<SketchEdge>,
}

/// A node with up to three input ports `p0`.., the outputs `a` and (optional) `b`, and an error port.
#[derive(Debug, Clone)]
pub(crate) struct SketchNode {
    /// Whether each port is optional.
    pub(crate) ports: Vec<bool>,
    pub(crate) behaviour: Behaviour,
    /// Whether it counts its executions in the state of the session.
    pub(crate) counts: bool,
    pub(crate) concurrency: Option<u32>,
}

/// What a node does with the sum of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behaviour {
    pub(crate) plus: i64,
    /// It fails when its sum is divisible by this.
    pub(crate) fails_on: Option<i64>,
    /// How often it lets others work before it is done.
    pub(crate) yields: u8,
}

#[derive(Debug, Clone)]
pub(crate) struct SketchEdge {
    /// A node, or `None` for the request's field `x`.
    pub(crate) from: Option<usize>,
    pub(crate) from_port: FromPort,
    /// A node and a port of it, or `None` for a field of the response.
    pub(crate) to: Option<(usize, usize)>,
    pub(crate) condition: Option<Condition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FromPort {
    A,
    B,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    Above(i64),
    Even,
    /// Fails when the value is this one.
    Raises(i64),
}

impl FromPort {
    pub(crate) fn name(self) -> &'static str {
        match self {
            FromPort::A => "a",
            FromPort::B => "b",
            FromPort::Error => "error",
        }
    }
}

impl Condition {
    fn text(self) -> String {
        match self {
            Condition::Above(bound) => format!("value > {bound}"),
            Condition::Even => "value % 2 == 0".to_owned(),
            Condition::Raises(number) => format!("1 // (value - {number}) != 5"),
        }
    }
}

pub(crate) fn node_id(index: usize) -> String {
    format!("n{index}")
}

pub(crate) fn sketches() -> impl Strategy<Value = Sketch> {
    (1..7_usize).prop_flat_map(|count| {
        let nodes = prop::collection::vec(node(), count);
        let edges = prop::collection::vec(edge(count), 1..=count * 3 + 2);
        (nodes, edges).prop_map(|(nodes, edges)| {
            let edges = edges.into_iter().filter_map(|edge| fit(edge, &nodes)).collect();
            Sketch { nodes, edges }
        })
    })
}

fn node() -> impl Strategy<Value = SketchNode> {
    let fails_on = prop_oneof![4 => Just(None), 1 => (2..4_i64).prop_map(Some)];
    let behaviour = (0..5_i64, fails_on, 0..4_u8).prop_map(|(plus, fails_on, yields)| Behaviour {
        plus,
        fails_on,
        yields,
    });
    (prop::collection::vec(any::<bool>(), 1..4), behaviour, prop::bool::weighted(0.3))
        .prop_map(|(ports, behaviour, counts)| SketchNode { ports, behaviour, counts, concurrency: None })
}

fn edge(count: usize) -> impl Strategy<Value = SketchEdge> {
    let condition = prop_oneof![
        4 => Just(None),
        1 => (0..8_i64).prop_map(|bound| Some(Condition::Above(bound))),
        1 => Just(Some(Condition::Even)),
        1 => (0..12_i64).prop_map(|number| Some(Condition::Raises(number))),
    ];
    let from_port = prop_oneof![3 => Just(FromPort::A), 1 => Just(FromPort::B), 1 => Just(FromPort::Error)];
    let from = prop::option::weighted(0.8, 0..count);
    let to = prop::option::weighted(0.75, (0..count, 0..3_usize));
    (from, from_port, to, condition).prop_map(|(from, from_port, to, condition)| SketchEdge {
        from,
        from_port: if from.is_none() { FromPort::A } else { from_port },
        to,
        condition,
    })
}

/// An edge that goes forward and ends at a port that is there; `None` for one that cannot be made to.
fn fit(mut edge: SketchEdge, nodes: &[SketchNode]) -> Option<SketchEdge> {
    if let (Some(from), Some((to, _))) = (edge.from, &mut edge.to) {
        if from == *to {
            return None;
        }
        if from > *to {
            (edge.from, *to) = (Some(*to), from);
        }
    }
    if let Some((to, port)) = &mut edge.to {
        *port %= nodes.get(*to)?.ports.len();
    }
    Some(edge)
}

impl Sketch {
    pub(crate) fn document(&self) -> Document {
        let mut nodes = vec![plain("_input", "flow.input")];
        for (index, node) in self.nodes.iter().enumerate() {
            nodes.push(self.node(index, node));
        }
        nodes.push(plain("_output", "flow.output"));
        Document {
            version: "1.0.0".to_owned(),
            flow: FlowHeader { name: "random".to_owned(), timeout_ms: 0 },
            constants: Constants { policy_ref: "default".to_owned(), policy: Object::new() },
            inputs_schema: stave_canon::parse(
                r#"{"type": "object", "properties": {"x": {}, "session_id": {}}, "required": ["x"]}"#,
            )
            .unwrap()
            .as_object()
            .cloned()
            .unwrap(),
            graph: DocumentGraph {
                nodes,
                edges: self.edges.iter().enumerate().map(|(i, edge)| exec_edge(i, edge)).collect(),
            },
            metadata: DocumentMetadata {
                generated_at: "2026-01-01T00:00:00Z".to_owned(),
                source_file: "random.yaml".to_owned(),
                extra: Object::new(),
            },
            extra: Object::new(),
        }
    }

    fn node(&self, index: usize, sketch: &SketchNode) -> DocumentNode {
        let port = |name: String, optional| StepPort {
            name,
            port_type: PortType::Number,
            schema: None,
            optional,
            provenance: None,
        };
        let data = NodeData {
            inputs: sketch
                .ports
                .iter()
                .enumerate()
                .map(|(i, optional)| port(format!("p{i}"), *optional))
                .collect(),
            outputs: vec![port("a".to_owned(), false), port("b".to_owned(), true)],
            state: sketch.counts.then(|| stave_exec::dataflow::StepState {
                session: true,
                key: "{node.id}".to_owned(),
                ttl_seconds: None,
                backend: "memory".to_owned(),
            }),
            concurrency: sketch.concurrency,
            ..NodeData::default()
        };
        let Behaviour { plus, fails_on, yields } = sketch.behaviour;
        let with = Value::from_iter([
            ("plus", Value::from(plus)),
            ("fails_on", fails_on.into()),
            ("yields", u32::from(yields).into()),
        ]);
        DocumentNode {
            with: with.as_object().cloned().unwrap(),
            extra: data.write(),
            ..plain(&node_id(index), SCRIPTED)
        }
    }
}

fn plain(id: &str, kind: &str) -> DocumentNode {
    DocumentNode {
        id: id.to_owned(),
        kind: kind.to_owned(),
        with: Object::new(),
        timeout_ms: 0,
        retry: Retry { max: 0, backoff_ms: 0 },
        extra: NodeData::default().write(),
    }
}

fn exec_edge(index: usize, edge: &SketchEdge) -> DocumentEdge {
    let is_error = edge.from_port == FromPort::Error;
    let data = EdgeData {
        from_port: Some(match edge.from {
            None => "x".to_owned(),
            Some(_) => edge.from_port.name().to_owned(),
        }),
        to_port: Some(match edge.to {
            Some((_, port)) => format!("p{port}"),
            None => format!("o{index}"),
        }),
        case: None,
        condition: edge.condition.filter(|_| !is_error).map(Condition::text),
        otherwise: false,
        transform: is_error.then(|| ERROR_VALUE.to_string()),
        cast: None,
        origin: None,
    };
    DocumentEdge {
        from: edge.from.map_or("_input".to_owned(), node_id),
        to: edge.to.map_or("_output".to_owned(), |(to, _)| node_id(to)),
        on: if is_error { On::Failure } else { On::Success },
        extra: data.write(),
    }
}
