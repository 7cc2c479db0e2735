//! Dependencies form no circle. Self-dependencies and unknown ids have a rule of their own.

use std::collections::HashMap;

use stave_canon::Pointer;
use stave_diag::Code;

use super::Findings;
use crate::{SystemNode, codes, strip};

/// What a broken rule is reported as.
pub(super) const CODE: Code = codes::SYSTEM_DEPENDENCY_CYCLE;

/// How far the walk has come with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    /// On the path that is being followed.
    Open,
    Done,
}

pub(super) fn check(findings: &mut Findings<'_>) {
    let nodes = &findings.document.nodes;
    if let Some(circle) = circle(nodes) {
        let names: Vec<String> = circle.iter().map(|index| format!("{:?}", nodes[*index].id)).collect();
        let first = circle.first().copied().unwrap_or_default();
        let pointer = Pointer::root().key("nodes").index(first).key("depends_on");
        findings.add(pointer, format!("dependencies form a circle: {}", names.join(" -> ")));
    }
}

/// The first circle in document order, from a node back to itself. The walk keeps its own stack, so the
/// longest chain of dependencies cannot exhaust the thread's.
fn circle(nodes: &[SystemNode]) -> Option<Vec<usize>> {
    let index_of: HashMap<&str, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.id.as_str(), index)).collect();
    let dependencies = |index: usize| -> Vec<usize> {
        let known = nodes[index].depends_on.iter().filter_map(|id| index_of.get(strip(id)).copied());
        known.filter(|dependency| *dependency != index).collect()
    };
    let mut marks = vec![Mark::New; nodes.len()];
    for start in 0..nodes.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut path = vec![(start, dependencies(start).into_iter())];
        while let Some((here, following)) = path.last_mut() {
            match following.next() {
                None => {
                    marks[*here] = Mark::Done;
                    path.pop();
                }
                Some(next) if marks[next] == Mark::Open => {
                    let walked = path.iter().map(|(index, _)| *index).skip_while(|index| *index != next);
                    return Some(walked.chain([next]).collect());
                }
                Some(next) if marks[next] == Mark::New => {
                    marks[next] = Mark::Open;
                    path.push((next, dependencies(next).into_iter()));
                }
                Some(_) => {}
            }
        }
    }
    None
}
