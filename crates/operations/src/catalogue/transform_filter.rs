//! `transform.filter`: the items of a list for which an expression holds.

use crate::{Argument, ArgumentKind, Blank, Descriptor, Group, ResultShape};

pub static TRANSFORM_FILTER: Descriptor = Descriptor {
    name: "transform.filter",
    summary: "keeps the items of a list for which an expression holds",
    details: "The items keep their order.",
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
        title: "Filter a list",
        id: "filter",
        node: r#"inputs: [{name: items, type: array}]
outputs: [{name: kept, type: array}]
transform:
  mode: declarative
  spec:
    op: transform.filter
    args: {expression: item is not None, input: "${items}"}
"#,
    }),
    ..Descriptor::INSIDE
};
