//! `transform.map`: an expression of every item of a list.

use crate::{Argument, ArgumentKind, Blank, Descriptor, Group, ResultShape};

pub static TRANSFORM_MAP: Descriptor = Descriptor {
    name: "transform.map",
    summary: "gives an expression of every item of a list",
    details: "The results are in the order of the items.",
    arguments: &[
        Argument::required(
            "expression",
            ArgumentKind::Expression(&["item", "index"]),
            "over `item` and `index`",
        ),
        Argument::required("input", ArgumentKind::List, "the list to go through"),
    ],
    result: ResultShape::List,
    blank: Some(Blank {
        group: Group::Lists,
        title: "Map a list",
        id: "map",
        node: r#"inputs: [{name: items, type: array}]
outputs: [{name: results, type: array}]
transform:
  mode: declarative
  spec:
    op: transform.map
    args: {expression: item, input: "${items}"}
"#,
    }),
    ..Descriptor::INSIDE
};
