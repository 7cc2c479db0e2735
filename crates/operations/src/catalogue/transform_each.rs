//! `transform.each`: a node of the flow, once for every item of a list.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, Effects, Group, Repeat, ResultProvenance, ResultShape,
};

pub static TRANSFORM_EACH: Descriptor = Descriptor {
    name: "transform.each",
    summary: "runs a node once for every item of a list",
    details: "\
The item goes to the input `port` of the node, and its other inputs are fed by edges. An output `results` takes the \
results of the items, in their order; an output `errors` takes the failed ones, each with its `index`. Without an \
output `errors` one failed item fails the node. Each item is bounded and repeated by the rules of the node that it \
runs, and an item that is done is not done again when the run is resumed.",
    arguments: &[
        Argument::required("input", ArgumentKind::List, "the list to go through"),
        Argument::required("node", ArgumentKind::Node, "the node that is run for every item"),
        Argument::optional(
            "port",
            ArgumentKind::Text,
            "the input that takes the item; the node's one unfed input when absent",
        )
        .default("the node's one unfed input"),
        Argument::optional(
            "parallel",
            ArgumentKind::Count,
            "how many items are worked on at once; 4 when absent",
        )
        .default("4"),
    ],
    result: ResultShape::Ports(&["results", "errors"]),
    effects: Effects::OfCalled,
    repeat: Repeat::ByPart,
    provenance: ResultProvenance::Called,
    blank: Some(Blank {
        group: Group::Lists,
        title: "Run a node for each item",
        id: "each",
        node: r#"inputs: [{name: items, type: array}]
outputs: [{name: results, type: array}]
transform:
  mode: declarative
  spec:
    op: transform.each
    args: {input: "${items}", node: step}
"#,
    }),
    ..Descriptor::INSIDE
};
