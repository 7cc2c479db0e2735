//! `policy.apply`: what the policy that is baked into a workflow decides.

use crate::{Argument, ArgumentKind, Descriptor, Form, ResultShape};

pub static POLICY_APPLY: Descriptor = Descriptor {
    name: "policy.apply",
    form: Form::Workflow,
    summary: "decides by the policy that is baked into the document",
    details: "A step that is attempted again decides the same.",
    arguments: &[
        Argument::optional("values", ArgumentKind::Any, "what the policy's expressions see as `values`"),
        Argument::optional("epsilon", ArgumentKind::Number, "takes the place of the policy's own epsilon")
            .default("the policy's own"),
    ],
    open: true,
    result: ResultShape::Object,
    ..Descriptor::INSIDE
};
