//! What a `transform.each` node runs.

use stave_operations::TRANSFORM_EACH;

use super::{Node, Text, Transform};
use crate::yaml::Tree;

/// The node that is run for every item of a list, and the input that takes the item.
#[derive(Debug, Clone, Copy)]
pub struct Each<'flow> {
    pub node: &'flow Text,
    pub port: Option<&'flow Text>,
}

impl Node {
    /// What the node runs for every item, when it is one that does.
    #[must_use]
    pub fn each(&self) -> Option<Each<'_>> {
        let operation = self.transform.as_ref().and_then(Transform::operation)?;
        if operation.op.as_ref().map(Text::as_str) != Some(TRANSFORM_EACH.name) {
            return None;
        }
        let args = operation.args.as_ref()?;
        Some(Each {
            node: args.get("node").and_then(Tree::text)?,
            port: args.get("port").and_then(Tree::text),
        })
    }

    /// The nodes that this one may run itself: those that answer its tools, and the one of each item.
    pub fn called(&self) -> impl Iterator<Item = &Text> {
        let tools = self.prompt.iter().flat_map(|prompt| &prompt.tools);
        tools.filter_map(|tool| tool.maps_to.as_ref()).chain(self.each().map(|each| each.node))
    }
}
