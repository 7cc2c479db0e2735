//! The labels of a flow as levels, for the document that a run enforces them from.

use std::collections::BTreeMap;

use super::path::Label;
use super::{Scopes, is_labelled, reads, travel};
use crate::check::CheckOptions;
use crate::check::subject::Subject;
use crate::model::{Flow, INPUT, Sensitivity};

/// How sensitive the values of a flow are, by the same walk as the check. What is public is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Levels {
    /// By context field.
    pub context: BTreeMap<String, Sensitivity>,
    /// By node, then by input.
    pub inputs: BTreeMap<String, BTreeMap<String, Sensitivity>>,
    /// By node, the most sensitive of its outputs.
    pub outputs: BTreeMap<String, Sensitivity>,
    /// By node, what its model is shown, and so what the model may answer.
    pub replies: BTreeMap<String, Sensitivity>,
    /// By node, what a caller receives when it fails.
    pub errors: BTreeMap<String, Sensitivity>,
    /// By node, the most sensitive of what it and the edges out of it read: what its failures and its log may reveal.
    /// The failures of edges out of the request are those of `_input`.
    pub reads: BTreeMap<String, Sensitivity>,
    /// By node with state, what its record may hold, its key included.
    pub state: BTreeMap<String, Sensitivity>,
}

/// The levels of a flow in a project with these scopes.
#[must_use]
pub fn levels(flow: &Flow, scopes: &Scopes) -> Levels {
    let options = CheckOptions { scopes: scopes.clone(), ..CheckOptions::default() };
    let subject = Subject::new(flow, &options);
    if !is_labelled(&subject) {
        return Levels::default();
    }
    let labels = travel::travel(&subject);
    let level = |label: Option<&Label>| label.map(|label| label.level);
    let mut levels = Levels::default();
    for (field, label) in &labels.fields {
        levels.context.insert((*field).to_owned(), label.level);
    }
    for node in flow.nodes.values() {
        let id = node.id.as_str();
        let inputs = node.inputs.iter().filter_map(|port| {
            let name = port.name.as_str();
            Some((name.to_owned(), level(labels.inputs.get(&(id, name)))?))
        });
        let inputs: BTreeMap<String, Sensitivity> = inputs.collect();
        let outputs = node.outputs.iter().map(|port| level(labels.outputs.get(&(id, port.name.as_str()))));
        let asked = level(labels.asked.get(id));
        let put = |table: &mut BTreeMap<String, Sensitivity>, most: Option<Sensitivity>| {
            table.extend(most.map(|most| (id.to_owned(), most)));
        };
        put(&mut levels.outputs, outputs.max().flatten());
        put(&mut levels.replies, asked);
        put(&mut levels.errors, level(labels.error(node).as_ref()));
        put(&mut levels.reads, level(labels.failed.get(id)));
        if let Some(state) = node.state.as_ref() {
            let own = state.sensitivity.map(|own| own.value).filter(|own| *own > Sensitivity::Public);
            let key =
                reads::of_key(node, state).into_iter().map(|read| level(labels.read(node, &read).as_ref()));
            let key = key.max().flatten();
            put(&mut levels.state, own.max(key).max(level(labels.kept.get(id))));
        }
        if !inputs.is_empty() {
            levels.inputs.insert(id.to_owned(), inputs);
        }
    }
    for connected in &subject.edges {
        if let Some(label) = labels.evaluated(&subject, connected) {
            let source = connected.origin.node().map_or(INPUT, |node| node.id.as_str());
            let known = levels.reads.entry(source.to_owned()).or_insert(label.level);
            *known = (*known).max(label.level);
        }
    }
    levels
}
