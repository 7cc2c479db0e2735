//! `transform.map`: an expression of every item of a list.

use super::{Kind, OperationSchema, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "transform.map",
    summary: "gives an expression of every item of a list",
    arguments: &[
        required("expression", Kind::Expression(&["item", "index"]), "over `item` and `index`"),
        required("input", Kind::List, "the list to go through"),
    ],
    one_of: &[],
    effects: false,
};
