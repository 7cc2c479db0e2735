//! `transform.reduce`: a list folded into one value.

use crate::{Argument, ArgumentKind, Blank, Descriptor, Group};

pub static TRANSFORM_REDUCE: Descriptor = Descriptor {
    name: "transform.reduce",
    summary: "folds a list into one value",
    details: "The expression is evaluated for each item in order; its value is the next `acc`.",
    arguments: &[
        Argument::required(
            "expression",
            ArgumentKind::Expression(&["acc", "item", "index"]),
            "over `acc`, `item` and `index`",
        ),
        Argument::required("input", ArgumentKind::List, "the list to go through"),
        Argument::optional(
            "initial",
            ArgumentKind::Any,
            "the first `acc`; the list's first item when absent",
        )
        .default("the list's first item"),
    ],
    blank: Some(Blank {
        group: Group::Lists,
        title: "Reduce a list",
        id: "reduce",
        node: r#"inputs: [{name: items, type: array}]
outputs: [{name: result, type: array}]
transform:
  mode: declarative
  spec:
    op: transform.reduce
    args: {expression: "acc + [item]", input: "${items}", initial: []}
"#,
    }),
    ..Descriptor::INSIDE
};
