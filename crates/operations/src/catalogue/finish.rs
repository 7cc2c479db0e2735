//! `finish`: the end of a workflow.

use crate::{Descriptor, Form};

pub static FINISH: Descriptor = Descriptor {
    name: "finish",
    form: Form::Workflow,
    summary: "ends a workflow",
    details: "It takes no arguments. What the steps before it gave is the result of the run.",
    ..Descriptor::INSIDE
};
