//! `flow.input`: what a flow is asked with.

use crate::{Descriptor, Form};

pub static FLOW_INPUT: Descriptor = Descriptor {
    name: "flow.input",
    form: Form::Boundary,
    summary: "gives the fields of the request",
    details: "It is the node `_input` of every flow.",
    ..Descriptor::INSIDE
};
