//! What follows from the result of a step: which of its edges carry something, and whether its failure is handled.

use stave_canon::{Object, Value};
use stave_exec::On;

use crate::failure::Failure;
use crate::graph::{EngineNode, Graph};
use crate::size::CopyLimit;

/// What an edge carries once its source has a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// It carries a value.
    Active(Value),
    /// It carries nothing, for this reason.
    Inactive(String),
}

/// The result of a step, with everything that follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepResult {
    pub outputs: Result<Object, Failure>,
    /// What each outgoing edge carries, by its index in the document.
    pub signals: Vec<(usize, Signal)>,
    /// The failure that no error route took.
    pub unhandled: Option<Failure>,
    pub attempts: u32,
}

impl Graph {
    /// What the edges out of a step carry before their expressions are evaluated, and the failure that no error route
    /// takes. An executor evaluates the condition, the transform and the cast of each edge that is active.
    #[must_use]
    pub fn routes(&self, node: &EngineNode, outputs: &Result<Object, Failure>, attempts: u32) -> Routes {
        let mut signals = Vec::with_capacity(node.outgoing.len());
        let (mut room, mut too_much) = (CopyLimit::of_edges(), None);
        for (index, edge) in self.edges_of(node) {
            let signal = match (outputs, &edge.on) {
                (_, On::Later(word)) => Ok(Signal::Inactive(format!(
                    "`on: {word}` is of a later version, and no such edge is taken"
                ))),
                (Ok(_), On::Failure) => Ok(Signal::Inactive(format!("`{}` did not fail", node.id))),
                (Ok(outputs), On::Success) => self.semantics.carried(self, edge, node, outputs, &mut room),
                (Err(_), On::Success) => Ok(Signal::Inactive(format!("`{}` failed", node.id))),
                (Err(failure), On::Failure) => {
                    Ok(self.semantics.carried_error(failure.to_error_value(&node.id, attempts)))
                }
            };
            let signal = signal.unwrap_or_else(|failure| {
                too_much.get_or_insert(failure);
                Signal::Inactive(format!("an edge out of `{}` failed", node.id))
            });
            signals.push((index, signal));
        }
        let unhandled = outputs.as_ref().err().filter(|failure| {
            let has_route = self.edges_of(node).any(|(_, edge)| edge.on == On::Failure);
            !has_route || node.is_final(failure)
        });
        // Edges with `else` depend on the evaluated conditions of their siblings, so they are evaluated last.
        let is_else = |index: usize| self.edges.get(index).is_some_and(|edge| edge.otherwise);
        signals.sort_by_key(|(index, _)| (is_else(*index), *index));
        Routes { unhandled: too_much.or_else(|| unhandled.cloned()), signals }
    }

    /// Why an edge with `else` carries nothing, given the evaluated signals of the edges before it. `failed` are the edges
    /// whose expressions failed: nobody knows whether their conditions hold, so `else` does not fire beside them.
    #[must_use]
    pub fn else_is_blocked(
        &self,
        index: usize,
        evaluated: &[(usize, Signal)],
        failed: &[usize],
    ) -> Option<String> {
        let edge = self.edges.get(index).filter(|edge| edge.otherwise)?;
        let source = self.nodes.get(edge.from).map_or("", |node| node.id.as_str());
        let mut siblings = evaluated.iter().filter_map(|(index, signal)| {
            let other = self.edges.get(*index)?;
            let is_sibling = other.from == edge.from
                && other.on == edge.on
                && other.from_port == edge.from_port
                && other.condition.is_some();
            is_sibling.then_some((*index, other, signal))
        });
        siblings.find_map(|(index, other, signal)| match (signal, &other.condition) {
            (Signal::Active(_), Some(condition)) => Some(format!("the condition `{condition}` is true")),
            _ if failed.contains(&index) => Some(format!("an edge out of `{source}` failed")),
            _ => None,
        })
    }
}

/// What follows from a result, before the expressions of edges are evaluated.
#[derive(Debug)]
pub struct Routes {
    pub signals: Vec<(usize, Signal)>,
    pub unhandled: Option<Failure>,
}
