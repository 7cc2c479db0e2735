//! The state machine on its own: no clock, no runtime, every order of events.

#![expect(clippy::unwrap_used, reason = "sketches make valid documents")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_engine::{
    Failure, FailureKind, Graph, Machine, MachineAction, MachineEvent, Routes, RunEnd, Signal, StepResult,
    StepStart, Stopped,
};
use stave_exec::dataflow::{EdgeData, NodeData, PortType, StepPort};
use stave_exec::{Constants, Document, DocumentEdge, DocumentMetadata, DocumentNode, FlowHeader, On, Retry};

/// Node `i` has the ports `p0`, `p1`.. it needs and the output `a`; the last node is `_output`.
#[derive(Debug, Clone)]
struct Sketch {
    /// By node: whether it fails, and whether it has effects.
    nodes: Vec<(bool, bool)>,
    /// From, to and whether the edge is an error route.
    edges: Vec<(usize, usize, bool)>,
}

fn sketches() -> impl Strategy<Value = Sketch> {
    (2..9_usize).prop_flat_map(|count| {
        let nodes = prop::collection::vec((prop::bool::weighted(0.2), prop::bool::weighted(0.3)), count);
        let edge = (0..count, 0..=count, prop::bool::weighted(0.2));
        let edges = prop::collection::vec(edge, count..count * 3);
        (nodes, edges).prop_map(move |(nodes, edges)| {
            let mut kept = BTreeSet::new();
            let edges = edges.into_iter().filter(|(from, to, _)| from < to && kept.insert((*from, *to)));
            Sketch { nodes, edges: edges.collect() }
        })
    })
}

fn document(sketch: &Sketch) -> Document {
    let port = |name: String, optional| StepPort {
        name,
        port_type: PortType::Number,
        schema: None,
        optional,
        provenance: None,
    };
    let count = sketch.nodes.len();
    let id = |index: usize| if index == count { "_output".to_owned() } else { format!("n{index}") };
    let nodes = (0..=count).map(|index| {
        let inputs = sketch.edges.iter().filter(|(_, to, _)| *to == index).map(|(from, ..)| from);
        let data = NodeData {
            // The port of a later edge may stay empty.
            inputs: inputs.map(|from| port(format!("p{from}"), from % 2 == 1)).collect(),
            outputs: vec![port("a".to_owned(), false)],
            effects: sketch.nodes.get(index).is_some_and(|(_, effects)| *effects),
            ..NodeData::default()
        };
        DocumentNode {
            id: id(index),
            kind: "test".to_owned(),
            with: Object::new(),
            timeout_ms: 0,
            retry: Retry { max: 0, backoff_ms: 0 },
            extra: data.write(),
        }
    });
    let edges = sketch.edges.iter().map(|(from, to, is_error)| {
        let data = EdgeData {
            from_port: Some(if *is_error { "error" } else { "a" }.to_owned()),
            to_port: Some(format!("p{from}")),
            ..EdgeData::default()
        };
        let on = if *is_error { On::Failure } else { On::Success };
        DocumentEdge { from: id(*from), to: id(*to), on, extra: data.write() }
    });
    Document {
        version: "1.0.0".to_owned(),
        flow: FlowHeader { name: "sketch".to_owned(), timeout_ms: 0 },
        constants: Constants { policy_ref: "default".to_owned(), policy: Object::new() },
        inputs_schema: Object::new(),
        graph: stave_exec::DocumentGraph { nodes: nodes.collect(), edges: edges.collect() },
        metadata: DocumentMetadata {
            generated_at: "2026-01-01T00:00:00Z".to_owned(),
            source_file: "sketch.yaml".to_owned(),
            extra: Object::new(),
        },
        extra: Object::new(),
    }
}

fn graph(sketch: &Sketch) -> Arc<Graph> {
    Arc::new(Graph::new(&document(sketch)).unwrap())
}

/// The result of a step: it fails when the sketch says so, else it adds its inputs up.
fn result(graph: &Graph, sketch: &Sketch, start: &StepStart) -> StepResult {
    let node = &graph.nodes[start.node];
    let outputs = match sketch.nodes.get(start.node) {
        Some((true, _)) => {
            Err(Failure::new(codes::CODE_FAILED, FailureKind::Code, format!("{} fails", node.id)))
        }
        _ => {
            let sum: i64 = start.inputs.values().filter_map(Value::as_i64).sum();
            Ok([("a".to_owned(), Value::from(sum + 1))].into_iter().collect())
        }
    };
    let Routes { signals, unhandled } = graph.routes(node, &outputs, 1);
    StepResult { outputs, signals, unhandled, attempts: 1 }
}

/// What the machine said about each node, and how the run ended.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    nodes: BTreeMap<usize, String>,
    started: Vec<usize>,
    end: Option<RunEnd>,
}

impl Seen {
    fn note(&mut self, node: usize, what: String) {
        let before = self.nodes.insert(node, what);
        assert_eq!(before, None, "node {node} is decided twice");
    }

    /// Notes actions, and gives the steps that start.
    fn take(&mut self, actions: Vec<MachineAction>) -> Vec<StepStart> {
        let mut starts = Vec::new();
        for action in actions {
            assert!(self.end.is_none(), "an action after the end");
            match action {
                MachineAction::Start(start) => {
                    self.started.push(start.node);
                    self.note(start.node, "started".to_owned());
                    starts.push(start);
                }
                MachineAction::Skip { node, .. } => self.note(node, "skipped".to_owned()),
                MachineAction::Cancel { node, .. } => self.note(node, "cancelled".to_owned()),
                MachineAction::Fail { node, failure } => self.note(node, failure.message.clone()),
                MachineAction::End(end) => self.end = Some(end),
                MachineAction::Halt | MachineAction::Rest { .. } => {}
            }
        }
        starts
    }
}

/// Runs a sketch; `choose` says which of the steps at work finishes next.
fn run(sketch: &Sketch, parallel: usize, mut choose: impl FnMut(usize) -> usize) -> (Seen, Vec<usize>) {
    let graph = graph(sketch);
    let mut machine = Machine::new(Arc::clone(&graph), Object::new(), parallel);
    let (mut seen, mut finished) = (Seen::default(), Vec::new());
    let mut at_work = seen.take(machine.apply(MachineEvent::Started));
    while !at_work.is_empty() {
        assert!(at_work.len() <= parallel);
        let start = at_work.remove(choose(at_work.len()) % at_work.len());
        finished.push(start.node);
        let result = Box::new(result(&graph, sketch, &start));
        at_work.extend(seen.take(machine.apply(MachineEvent::StepFinished { node: start.node, result })));
    }
    (seen, finished)
}

proptest! {
    #[test]
    fn a_run_without_failures_does_not_depend_on_timing(
        mut sketch in sketches(), parallel in 1..5_usize, choices in prop::collection::vec(0..7_usize, 16),
    ) {
        sketch.nodes.iter_mut().for_each(|(fails, _)| *fails = false);
        let (in_order, _) = run(&sketch, 1, |_| 0);
        let mut choices = choices.into_iter().cycle();
        let (mixed, _) = run(&sketch, parallel, |_| choices.next().unwrap_or_default());
        prop_assert_eq!(&in_order.nodes, &mixed.nodes);
        prop_assert_eq!(&in_order.end, &mixed.end);
    }

    #[test]
    fn every_node_is_decided_once_and_every_run_ends(
        sketch in sketches(), parallel in 1..5_usize, choices in prop::collection::vec(0..7_usize, 16),
    ) {
        let mut choices = choices.into_iter().cycle();
        let (seen, finished) = run(&sketch, parallel, |_| choices.next().unwrap_or_default());
        prop_assert!(seen.end.is_some());
        prop_assert_eq!(finished.len(), seen.started.len());
        // All but `_output`, which takes values and does nothing.
        let decided = seen.nodes.keys().filter(|node| **node < sketch.nodes.len()).count();
        prop_assert_eq!(decided, sketch.nodes.len());
    }

    #[test]
    fn a_run_that_is_restored_ends_as_if_nothing_had_happened(
        sketch in sketches(), kept in 0..9_usize,
    ) {
        let graph = graph(&sketch);
        let (whole, order) = run(&sketch, 1, |_| 0);
        let mut machine = Machine::new(Arc::clone(&graph), Object::new(), 1);
        let (mut seen, mut known) = (Seen::default(), Vec::new());
        let mut at_work = seen.take(machine.apply(MachineEvent::Started));
        for _ in 0..kept.min(order.len()) {
            let start = at_work.remove(0);
            let result = result(&graph, &sketch, &start);
            known.push((start.node, result.clone()));
            let event = MachineEvent::StepFinished { node: start.node, result: Box::new(result) };
            at_work.extend(seen.take(machine.apply(event)));
        }
        let done: BTreeSet<usize> = known.iter().map(|(node, _)| *node).collect();
        let mut machine = Machine::new(Arc::clone(&graph), Object::new(), 1);
        let mut seen = Seen::default();
        prop_assert!(seen.take(machine.apply(MachineEvent::Restored(known))).is_empty());
        let mut at_work = seen.take(machine.apply(MachineEvent::Started));
        while let Some(start) = at_work.pop() {
            prop_assert!(!done.contains(&start.node), "a finished step is repeated");
            let result = Box::new(result(&graph, &sketch, &start));
            at_work.extend(seen.take(machine.apply(MachineEvent::StepFinished { node: start.node, result })));
        }
        prop_assert_eq!(whole.end, seen.end);
    }

    #[test]
    fn nothing_starts_after_a_stop_and_effects_finish(
        sketch in sketches(), parallel in 1..5_usize, after in 0..6_usize, cancelled: bool,
    ) {
        let graph = graph(&sketch);
        let mut machine = Machine::new(Arc::clone(&graph), Object::new(), parallel);
        let mut seen = Seen::default();
        let mut at_work = seen.take(machine.apply(MachineEvent::Started));
        for _ in 0..after {
            if at_work.is_empty() { break }
            let start = at_work.remove(0);
            let result = Box::new(result(&graph, &sketch, &start));
            at_work.extend(seen.take(machine.apply(MachineEvent::StepFinished { node: start.node, result })));
        }
        if seen.end.is_none() {
            let why = if cancelled { Stopped::Cancelled } else { Stopped::Interrupted };
            let started = seen.take(machine.apply(MachineEvent::Stopped { node: None, why }));
            prop_assert!(started.is_empty());
            let mut effects: Vec<StepStart> =
                at_work.into_iter().filter(|start| graph.nodes[start.node].effects).collect();
            while let Some(start) = effects.pop() {
                prop_assert_eq!(&seen.end, &None, "the run ended before a step with effects did");
                let result = Box::new(result(&graph, &sketch, &start));
                let event = MachineEvent::StepFinished { node: start.node, result };
                let started = seen.take(machine.apply(event));
                prop_assert!(started.is_empty());
            }
            prop_assert_eq!(seen.end, Some(RunEnd::Stopped(why)));
        }
    }
}

#[test]
fn a_step_that_waits_rests_the_run_and_starts_again_with_the_same_inputs() {
    let sketch = Sketch { nodes: vec![(false, false); 2], edges: vec![(0, 1, false), (1, 2, false)] };
    let graph = graph(&sketch);
    let mut machine = Machine::new(Arc::clone(&graph), Object::new(), 4);
    let sole = |actions: Vec<MachineAction>| match <[MachineAction; 1]>::try_from(actions) {
        Ok([MachineAction::Start(start)]) => start,
        other => panic!("not one start: {other:?}"),
    };
    let first = sole(machine.apply(MachineEvent::Started));
    let event = MachineEvent::StepFinished { node: 0, result: Box::new(result(&graph, &sketch, &first)) };
    let asking = sole(machine.apply(event));
    assert_eq!(
        machine.apply(MachineEvent::StepWaits { node: 1 }),
        [MachineAction::Rest { waiting: vec![1] }]
    );
    assert_eq!(sole(machine.apply(MachineEvent::Decided { node: 1 })), asking);
    let event = MachineEvent::StepFinished { node: 1, result: Box::new(result(&graph, &sketch, &asking)) };
    let output = Value::from_iter([("p1", 2)]);
    assert_eq!(machine.apply(event), [MachineAction::End(RunEnd::Finished(Ok(output)))]);
}

#[test]
fn a_run_that_rests_can_be_cancelled() {
    let sketch = Sketch { nodes: vec![(false, true)], edges: vec![(0, 1, false)] };
    let mut machine = Machine::new(graph(&sketch), Object::new(), 1);
    assert_eq!(machine.apply(MachineEvent::Started).len(), 1);
    assert_eq!(
        machine.apply(MachineEvent::StepWaits { node: 0 }),
        [MachineAction::Rest { waiting: vec![0] }]
    );
    let actions = machine.apply(MachineEvent::Stopped { node: None, why: Stopped::Cancelled });
    assert_eq!(actions, [MachineAction::Halt, MachineAction::End(RunEnd::Stopped(Stopped::Cancelled))]);
    assert!(machine.apply(MachineEvent::Decided { node: 0 }).is_empty());
}

#[test]
fn what_the_edges_of_one_step_carry_together_is_bounded() {
    let edges = (1..20).map(|to| (0, to, false)).collect();
    let sketch = Sketch { nodes: vec![(false, false); 20], edges };
    let graph = graph(&sketch);
    let large: Object = [("a".to_owned(), Value::from("x".repeat(4 << 20)))].into_iter().collect();
    let Routes { signals, unhandled } = graph.routes(&graph.nodes[0], &Ok(large), 1);
    let active = signals.iter().filter(|(_, signal)| matches!(signal, Signal::Active(_))).count();
    assert!(active < 16, "{active} edges carry 4 MiB each");
    let failure = unhandled.expect("a failure");
    assert_eq!(failure.code, codes::RESULT_TOO_LARGE);
    assert!(failure.message.contains("the edges out of `n0` carry more than"), "{failure}");
}

#[test]
fn a_step_of_a_workflow_has_effects_when_its_descriptor_says_so_or_nothing_is_known() {
    for (kind, has_effects) in [
        ("hopsworks.get_model", false),
        ("hopsworks.write_features", true),
        ("llm.chat", false),
        ("mcp.call", true),
        ("python", false),
        ("transform.each", false),
        ("crm.lookup", true),
    ] {
        let mut document = document(&Sketch { nodes: vec![(false, false)], edges: Vec::new() });
        for node in &mut document.graph.nodes {
            node.kind = kind.to_owned();
            node.extra = Object::new();
        }
        let graph = Graph::new(&document).unwrap();
        assert_eq!(graph.nodes[0].effects, has_effects, "{kind}");
    }
}

#[test]
fn a_node_that_waits_for_itself_is_rejected_with_the_path() {
    let sketch = |edges: &[(usize, usize)]| Sketch {
        nodes: vec![(false, false); 3],
        edges: edges.iter().map(|(from, to)| (*from, *to, false)).collect(),
    };
    let rejected = |document: &Document| Graph::new(document).map(|_| ()).unwrap_err().message.clone();
    let message = rejected(&document(&sketch(&[(0, 1), (1, 2), (2, 1)])));
    assert_eq!(message, "the graph has a cycle: n1 → n2 → n1; each of them waits for the next one");
    // A node waits for the node that it runs itself, and so for what leads to that one.
    let calls = |caller: usize, called: &str, edges: &[(usize, usize)]| {
        let mut document = document(&sketch(edges));
        let node = document.graph.nodes.get_mut(caller).unwrap();
        node.kind = "transform.each".to_owned();
        node.with.insert("node".into(), called.into());
        document
    };
    let message = rejected(&calls(0, "n2", &[(0, 1), (1, 2)]));
    assert!(message.contains("n0 → n2 → n1 → n0"), "{message}");
    let message = rejected(&calls(1, "n1", &[(0, 1)]));
    assert!(message.contains("n1 → n1"), "{message}");
    assert!(Graph::new(&calls(1, "n2", &[(0, 1), (0, 2)])).is_ok());
}
