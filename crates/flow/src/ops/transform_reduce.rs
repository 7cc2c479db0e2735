//! `transform.reduce`: a list folded into one value.

use super::{Kind, OperationSchema, optional, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "transform.reduce",
    summary: "folds a list into one value",
    arguments: &[
        required("expression", Kind::Expression(&["acc", "item", "index"]), "over `acc`, `item` and `index`"),
        required("input", Kind::List, "the list to go through"),
        optional("initial", Kind::Any, "the first `acc`; the list's first item when absent"),
    ],
    one_of: &[],
    effects: false,
};
