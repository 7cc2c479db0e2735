//! The sensitivity of what reaches the prompts of a flow, for the gate that every model call passes.
//!
//! A field of the request and an output with a label are what the label says. Any other output is as sensitive
//! as everything that its node is given, which is never less than what the checker found it to read. A flow
//! without labels has no entry here.

use std::collections::BTreeMap;

use stave_canon::{Object, Value};
use stave_flow::graph::{self, Connected, Origin};
use stave_flow::model::{Flow, Node, Sensitivity};

/// Adds the labels of a flow to the policy that is baked into its document, under `sensitivity`.
pub(super) fn with_labels(mut policy: Object, flow: &Flow) -> Object {
    let labels = Labels::of(flow);
    let context = flow.context.sensitivity.iter().map(|(name, level)| (name.value.as_str(), level.value));
    let context: Object = context.filter(sensitive).map(written).collect();
    let inputs = flow.nodes.values().filter(|node| node.prompt.is_some()).filter_map(|node| {
        let ports = node.inputs.iter().map(|port| port.name.as_str());
        let ports = ports.map(|port| (port, labels.input(node, port)));
        let ports: Object = ports.filter(sensitive).map(written).collect();
        (!ports.is_empty()).then(|| (node.id.value.clone(), Value::Object(ports)))
    });
    let inputs: Object = inputs.collect();
    let outputs = flow.nodes.values().map(|node| (node.id.as_str(), labels.outputs(node)));
    let outputs: Object = outputs.filter(sensitive).map(written).collect();
    let parts = [("context", context), ("inputs", inputs), ("outputs", outputs)];
    for (key, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        let sensitivity = policy.entry("sensitivity".to_owned()).or_insert_with(|| Object::new().into());
        if let Some(sensitivity) = sensitivity.as_object_mut() {
            sensitivity.insert(key.to_owned(), part.into());
        }
    }
    policy
}

fn sensitive((_, level): &(&str, Sensitivity)) -> bool {
    *level > Sensitivity::Public
}

fn written((name, level): (&str, Sensitivity)) -> (String, Value) {
    (name.to_owned(), level.word().into())
}

struct Labels<'l> {
    flow: &'l Flow,
    edges: Vec<Connected<'l>>,
    /// What each node is given, the most sensitive of it.
    given: BTreeMap<&'l str, Sensitivity>,
}

impl<'l> Labels<'l> {
    /// Labels only ever rise, so the walk ends, on a cyclic flow too.
    fn of(flow: &'l Flow) -> Self {
        let mut labels = Labels { flow, edges: graph::connected(flow), given: BTreeMap::new() };
        loop {
            let given: BTreeMap<&str, Sensitivity> = flow
                .nodes
                .values()
                .map(|node| {
                    let inputs = node.inputs.iter().map(|input| labels.input(node, input.name.as_str()));
                    let state = node.state.as_ref().and_then(|state| state.sensitivity);
                    let given = inputs.chain(state.map(|level| level.value)).max();
                    (node.id.as_str(), given.unwrap_or(Sensitivity::Public))
                })
                .collect();
            if given == labels.given {
                return labels;
            }
            labels.given = given;
        }
    }

    fn input(&self, node: &Node, port: &str) -> Sensitivity {
        let declared = node.inputs.iter().find(|input| input.name.as_str() == port);
        let declared = declared.and_then(|input| input.sensitivity).map(|level| level.value);
        let into = self.edges.iter().filter(|edge| {
            edge.destination.node().is_some_and(|target| target.id.value == node.id.value)
                && edge.destination.port().is_some_and(|target| target.name.as_str() == port)
        });
        let sources = into.map(|edge| match edge.origin {
            Origin::Request(field) => self.field(field),
            Origin::Output(source, port) | Origin::Error(source, port) => {
                port.sensitivity.map_or_else(|| self.given(source), |level| level.value)
            }
        });
        sources.chain(declared).max().unwrap_or(Sensitivity::Public)
    }

    fn field(&self, name: &str) -> Sensitivity {
        let field = self.flow.context.sensitivity.iter().find(|(field, _)| field.value == name);
        field.map_or(Sensitivity::Public, |(_, level)| level.value)
    }

    fn given(&self, node: &Node) -> Sensitivity {
        self.given.get(node.id.as_str()).copied().unwrap_or(Sensitivity::Public)
    }

    /// The most sensitive of what a node gives.
    fn outputs(&self, node: &Node) -> Sensitivity {
        let levels = node
            .outputs
            .iter()
            .map(|output| output.sensitivity.map_or_else(|| self.given(node), |level| level.value));
        levels.max().unwrap_or_else(|| self.given(node))
    }
}
