//! `io.format_response`: a value built from a template of placeholders.

use crate::{Argument, ArgumentKind, Blank, Descriptor, Group, ResultShape};

pub static IO_FORMAT_RESPONSE: Descriptor = Descriptor {
    name: "io.format_response",
    summary: "builds a value from a template",
    details: "A sole output takes the whole value. Several outputs take its members by name.",
    arguments: &[Argument::required(
        "template",
        ArgumentKind::Any,
        "any value, in which `${…}` stands for values",
    )],
    result: ResultShape::Filled("template"),
    blank: Some(Blank {
        group: Group::Response,
        title: "Build a response",
        id: "respond",
        node: r#"inputs: [{name: data, type: object}]
outputs: [{name: response, type: object}]
transform:
  mode: declarative
  spec:
    op: io.format_response
    args: {template: {status: success, data: "${data}"}}
"#,
    }),
    ..Descriptor::INSIDE
};
