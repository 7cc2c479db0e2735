//! What a graph means, computed plainly: one node after the other, in the order of their numbers, which
//! every edge follows. Nothing is cancelled, so it says the result that every node would have.

use crate::graph::{Condition, ERROR_VALUE, FromPort, Sketch, SketchEdge};
use crate::scripted;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Ok {
        a: i64,
        b: Option<i64>,
    },
    /// It failed, and an error route took the failure.
    Handled,
    /// It failed, one of its edges failed, or two values met at a port.
    Failed,
    Skipped,
}

/// What became of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carried {
    Value(i64),
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) fates: Vec<Fate>,
    /// By number of the edge into `_output`.
    pub(crate) response: Vec<(usize, i64)>,
    /// Whether a condition on the request's field failed.
    pub(crate) request_failed: bool,
}

impl Meaning {
    pub(crate) fn of(sketch: &Sketch, x: i64) -> Meaning {
        let mut carried = vec![Carried::Nothing; sketch.edges.len()];
        let mut request_failed = false;
        for (index, edge) in sketch.edges.iter().enumerate().filter(|(_, edge)| edge.from.is_none()) {
            match condition(edge, x) {
                Some(true) => carried[index] = Carried::Value(x),
                Some(false) => {}
                None => request_failed = true,
            }
        }
        let mut fates: Vec<Fate> = Vec::new();
        for (number, node) in sketch.nodes.iter().enumerate() {
            let arrived = |port: usize| -> Vec<i64> {
                let edges = sketch.edges.iter().zip(&carried);
                let values = edges.filter_map(|(edge, carried)| match carried {
                    Carried::Value(value) if edge.to == Some((number, port)) => Some(*value),
                    _ => None,
                });
                values.collect()
            };
            let values: Vec<Vec<i64>> = (0..node.ports.len()).map(arrived).collect();
            let conflict = values.iter().any(|values| values.len() > 1);
            let absent =
                values.iter().zip(&node.ports).any(|(values, optional)| values.is_empty() && !optional);
            let fate = if conflict {
                Fate::Failed
            } else if absent {
                Fate::Skipped
            } else {
                let inputs = values.iter().flatten().sum();
                let behaviour = node.behaviour;
                match scripted::result(inputs, behaviour.plus, behaviour.fails_on) {
                    Some((a, b)) => outgoing(sketch, number, a, b, &mut carried),
                    None => failing(sketch, number, &mut carried),
                }
            };
            fates.push(fate);
        }
        let into_output = sketch.edges.iter().enumerate().filter(|(_, edge)| edge.to.is_none());
        let response = into_output.filter_map(|(index, _)| match carried[index] {
            Carried::Value(value) => Some((index, value)),
            Carried::Nothing => None,
        });
        Meaning { fates, response: response.collect(), request_failed }
    }

    /// The numbers of the nodes that end a run.
    pub(crate) fn failed(&self) -> Vec<usize> {
        let failed = self.fates.iter().enumerate().filter(|(_, fate)| **fate == Fate::Failed);
        failed.map(|(number, _)| number).collect()
    }
}

fn outgoing(sketch: &Sketch, number: usize, a: i64, b: Option<i64>, carried: &mut [Carried]) -> Fate {
    let mut fate = Fate::Ok { a, b };
    for (index, edge) in sketch.edges.iter().enumerate().filter(|(_, edge)| edge.from == Some(number)) {
        let value = match edge.from_port {
            FromPort::A => Some(a),
            FromPort::B => b,
            FromPort::Error => None,
        };
        let Some(value) = value else { continue };
        match condition(edge, value) {
            Some(true) => carried[index] = Carried::Value(value),
            Some(false) => {}
            None => fate = Fate::Failed,
        }
    }
    fate
}

fn failing(sketch: &Sketch, number: usize, carried: &mut [Carried]) -> Fate {
    let mut fate = Fate::Failed;
    for (index, edge) in sketch.edges.iter().enumerate() {
        if edge.from == Some(number) && edge.from_port == FromPort::Error {
            carried[index] = Carried::Value(ERROR_VALUE);
            fate = Fate::Handled;
        }
    }
    fate
}

/// Whether an edge is taken; `None` when its condition fails.
fn condition(edge: &SketchEdge, value: i64) -> Option<bool> {
    match edge.condition {
        None => Some(true),
        Some(Condition::Above(bound)) => Some(value > bound),
        Some(Condition::Even) => Some(value % 2 == 0),
        Some(Condition::Raises(number)) if value == number => None,
        Some(Condition::Raises(number)) => Some(1_i64.div_euclid(value - number) != 5),
    }
}
