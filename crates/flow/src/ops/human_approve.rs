//! `human.approve`: a person decides whether the flow goes on here.

use super::{Kind, OperationSchema, optional};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "human.approve",
    summary: "waits until a person lets the flow go on",
    arguments: &[optional("message", Kind::Text, "what the person is asked")],
    one_of: &[],
    // Asking somebody twice is not the same as asking once.
    effects: true,
};
