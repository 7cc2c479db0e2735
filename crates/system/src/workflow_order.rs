//! The order in which a document's workflow nodes are orchestrated.

use std::cmp::Ordering;

use stave_canon::{Number, Value};

use crate::{NodeKind, SystemDocument, SystemNode, strip};

/// What places a workflow node: parallel groups by name first, then single steps by their index.
#[derive(Debug, Clone, PartialEq)]
enum Place<'n> {
    Group(&'n str),
    Index(Number),
}

/// The workflow nodes in order of their parallel group, else of their `order_idx`, then of their id. An
/// index that is no integer counts as 0; `true` and `false` count as 1 and 0.
#[must_use]
pub fn workflow_order(document: &SystemDocument) -> Vec<&SystemNode> {
    let workflows = document.nodes.iter().filter(|node| node.kind == NodeKind::Workflow);
    let mut placed: Vec<(Place<'_>, &SystemNode)> = workflows.map(|node| (place(node), node)).collect();
    placed.sort_by(|(left_place, left), (right_place, right)| {
        left_place.compare(right_place).then_with(|| strip(&left.id).cmp(strip(&right.id)))
    });
    placed.into_iter().map(|(_, node)| node).collect()
}

fn place(node: &SystemNode) -> Place<'_> {
    let group = node.properties.get("coordination_parallel_group").and_then(Value::as_str).map(strip);
    if let Some(group) = group.filter(|group| !group.is_empty()) {
        return Place::Group(group);
    }
    Place::Index(match node.properties.get("order_idx") {
        Some(Value::Bool(value)) => Number::Int(i64::from(*value)),
        Some(Value::Number(number)) if number.is_integer() => number.clone(),
        _ => Number::Int(0),
    })
}

impl Place<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Place::Group(left), Place::Group(right)) => left.cmp(right),
            (Place::Group(_), Place::Index(_)) => Ordering::Less,
            (Place::Index(_), Place::Group(_)) => Ordering::Greater,
            (Place::Index(left), Place::Index(right)) => left.compare(right).unwrap_or(Ordering::Equal),
        }
    }
}
