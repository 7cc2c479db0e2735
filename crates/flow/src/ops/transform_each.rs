//! `transform.each`: a node of the flow, once for every item of a list.

use super::{Kind, OperationSchema, optional, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "transform.each",
    summary: "runs a node once for every item of a list",
    arguments: &[
        required("input", Kind::List, "the list to go through"),
        required("node", Kind::Node, "the node that is run for every item"),
        optional("port", Kind::Text, "the input that takes the item; the node's one unfed input when absent"),
        optional("parallel", Kind::Count, "how many items are worked on at once; 4 when absent"),
    ],
    one_of: &[],
    effects: false,
};
