//! `transform.filter`: the items of a list for which an expression holds.

use super::{Kind, OperationSchema, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "transform.filter",
    summary: "keeps the items of a list for which an expression holds",
    arguments: &[
        required("expression", Kind::Expression(&["item", "index"]), "over `item` and `index`"),
        required("input", Kind::List, "the list to go through"),
    ],
    one_of: &[],
    effects: false,
};
