//! `dsl.emit`: the outputs of a workflow.

use crate::{Descriptor, Form, ResultShape};

pub static DSL_EMIT: Descriptor = Descriptor {
    name: "dsl.emit",
    form: Form::Workflow,
    summary: "gives its arguments as the outputs of a workflow, by name",
    details: "References are replaced by what they name.",
    open: true,
    result: ResultShape::Object,
    ..Descriptor::INSIDE
};
