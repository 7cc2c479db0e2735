//! `io.format_response`: a value built from a template of placeholders.

use super::{Kind, OperationSchema, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "io.format_response",
    summary: "builds a value from a template",
    arguments: &[required("template", Kind::Any, "any value, in which `${…}` stands for values")],
    one_of: &[],
    effects: false,
};
