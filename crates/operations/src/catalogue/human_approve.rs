//! `human.approve`: a person decides whether the flow continues here.

use crate::{Argument, ArgumentKind, Blank, Descriptor, Effects, Group, Repeat, ResultShape};

pub static HUMAN_APPROVE: Descriptor = Descriptor {
    name: "human.approve",
    summary: "waits until a person approves",
    details: "\
The run stops until somebody decides (`stave runs approve`). The values at the inputs pass unchanged to outputs of the \
same names; an output `comment` takes what the person wrote. A denial fails the node, and its error port can take it.",
    arguments: &[Argument::optional("message", ArgumentKind::Text, "what the person is asked")],
    result: ResultShape::Inputs,
    // Asking somebody twice is not the same as asking once.
    effects: Effects::Writes,
    repeat: Repeat::Unsafe { advice: "leave `retries` out: a person who was asked is not asked again" },
    blank: Some(Blank {
        group: Group::People,
        title: "Ask a person",
        id: "approve",
        node: r#"inputs: [{name: request, type: object}]
outputs: [{name: request, type: object}]
transform:
  mode: declarative
  spec:
    op: human.approve
    args: {message: Publish this text?}
"#,
    }),
    ..Descriptor::INSIDE
};
