//! `python`: code of a node.

use crate::{Argument, ArgumentKind, Blank, Descriptor, Form, Group};

pub static PYTHON: Descriptor = Descriptor {
    name: "python",
    form: Form::Code,
    summary: "runs Python in the sandbox",
    details: "\
Written as a transform with `mode: code`. The code has the values at the inputs, the request's context and the node's \
state, and no access to files, the network or the clock. State is written once the step has succeeded.",
    arguments: &[Argument::required(
        "code",
        ArgumentKind::Text,
        "code with `def transform(inputs, context, state)`; a flow writes it as `spec`",
    )],
    blank: Some(Blank {
        group: Group::Code,
        title: "Python",
        id: "step",
        node: r#"inputs: [{name: value, type: object}]
outputs: [{name: result, type: object}]
transform:
  mode: code
  spec: |
    def transform(inputs, context, state):
        return {"result": inputs["value"]}
"#,
    }),
    ..Descriptor::INSIDE
};
