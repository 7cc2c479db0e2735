//! Workflows: documents whose nodes are joined by transitions instead of by ports.
//!
//! An edge carries nothing. It is taken when its source ended the way `on` says and, out of a `switch`, when
//! its case was chosen. A node starts once every edge into it is settled and one of them is taken; a node
//! that no edge leads to starts at once. Invariant: what a node sees follows from the document and the
//! request alone, because it sees the results of the steps before it and of no other.

use stave_canon::{Object, Value};

use crate::edges::Signal;
use crate::plan::{Edge, Node};
use crate::references::{self, ERROR, Reference};
use crate::run::Run;
use crate::scheduler::Progress;
use crate::steps;

/// The name under which a step's whole result is kept.
pub(crate) const RESULT: &str = "result";

/// The step kind that ends a workflow.
const FINISH: &str = "finish";

impl Run<'_> {
    /// The arguments of a node with their references replaced, and why it never starts.
    pub(crate) fn gather_transitions(&self, node: &Node, progress: &Progress) -> (Object, Option<String>) {
        let edges = || {
            let settled = |edge: &usize| Some((*edge, progress.signals.get(*edge)?.as_ref()?));
            node.incoming.iter().filter_map(settled)
        };
        let taken: Vec<usize> = edges()
            .filter(|(_, signal)| matches!(signal, Signal::Active(_)))
            .filter_map(|(edge, _)| Some(self.plan.edges.get(edge)?.from))
            .collect();
        if taken.is_empty() && !node.incoming.is_empty() {
            let reasons = edges().filter_map(|(_, signal)| match signal {
                Signal::Inactive(reason) => Some(reason.as_str()),
                Signal::Active(_) => None,
            });
            let mut reasons: Vec<&str> = reasons.collect();
            reasons.dedup();
            return (Object::new(), Some(format!("no edge leads to it: {}", reasons.join("; "))));
        }
        if node.step.passes_on() {
            let before = taken.into_iter().filter_map(|source| {
                let id = self.plan.nodes.get(source)?.id.clone();
                Some((id, progress.results.get(source)?.clone()?))
            });
            return (before.collect(), None);
        }
        let lookup = |reference: &Reference<'_>| self.lookup(node, reference, progress);
        let arguments =
            node.with.iter().map(|(name, value)| (name.clone(), references::resolve(value, &lookup)));
        (arguments.collect(), None)
    }

    fn lookup(&self, node: &Node, reference: &Reference<'_>, progress: &Progress) -> Value {
        let found = match reference {
            Reference::Input(path) => match path.split_first() {
                None => return Value::Object(self.request.fields.clone()),
                Some((name, rest)) => {
                    self.request.fields.get(*name).and_then(|value| references::follow(value, rest))
                }
            },
            Reference::Step(path) => {
                let Some((id, rest)) = references::split_step(path, |id| self.plan.index(id).is_some())
                else {
                    return Value::Null;
                };
                let index = self.plan.index(&id).filter(|index| node.named_steps.contains(index));
                let result = index.and_then(|index| progress.results.get(index)?.as_ref());
                // A step that did not run has no results, which is not the same as an absent one.
                if result.is_none() && rest.is_empty() {
                    return Value::Object(Object::new());
                }
                result.and_then(|result| references::follow(result, rest))
            }
        };
        found.cloned().unwrap_or_default()
    }

    /// Whether the edge of a step that succeeded is taken.
    pub(crate) fn transition(&self, edge: &Edge, source: &Node, outputs: &Object) -> Signal {
        let decided = outputs.get(RESULT).unwrap_or(&Value::Null);
        if source.kind == steps::SWITCH && !steps::takes(self.plan, edge, decided) {
            let case = decided.get("case").and_then(Value::as_str).unwrap_or_default();
            return Signal::Inactive(format!("`{}` took the case {case:?}", source.id));
        }
        Signal::Active(Value::Null)
    }

    /// The result of a workflow: what `finish` passed on; without one, the results of the steps after which
    /// nothing came.
    pub(crate) fn workflow_response(&self, progress: &Progress) -> Value {
        let is_taken = |edge: &usize| matches!(progress.signals.get(*edge), Some(Some(Signal::Active(_))));
        let ended = self.plan.nodes.iter().enumerate().filter_map(|(index, node)| {
            let result = progress.results.get(index)?.as_ref()?;
            (!node.outgoing.iter().any(is_taken)).then_some((node, result))
        });
        let mut ended: Vec<(&Node, &Value)> = ended.collect();
        if ended.iter().any(|(node, _)| node.kind == FINISH) {
            ended.retain(|(node, _)| node.kind == FINISH);
        }
        match ended.as_slice() {
            [] => Value::Null,
            [(_, sole)] => (*sole).clone(),
            several => several.iter().map(|(node, result)| (node.id.clone(), (*result).clone())).collect(),
        }
    }
}

/// What later steps can name of a step that succeeded.
pub(crate) fn succeeded(outputs: &Object) -> Value {
    outputs.get(RESULT).cloned().unwrap_or_default()
}

/// What later steps can name of a step that failed.
pub(crate) fn failed(error: Value) -> Value {
    Value::from_iter([(ERROR, error)])
}
