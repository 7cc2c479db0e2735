//! `flow.output`: what a flow answers.

use crate::{Descriptor, Form};

pub static FLOW_OUTPUT: Descriptor = Descriptor {
    name: "flow.output",
    form: Form::Boundary,
    summary: "takes the answer of the flow",
    details: "It is the node `_output` of every flow.",
    ..Descriptor::INSIDE
};
