//! `switch`: chooses which edges of a workflow are followed.

use crate::{Argument, ArgumentKind, Descriptor, Form, ResultShape};

pub static SWITCH: Descriptor = Descriptor {
    name: "switch",
    form: Form::Workflow,
    summary: "chooses the edges that are followed",
    details: "\
The value that `key_from` names is compared with the `case` of the edges out of the step, else with `cases`. A value that \
no case has takes the `default`.",
    arguments: &[
        Argument::required("key_from", ArgumentKind::Reference, "a reference to the value that decides"),
        Argument::optional(
            "cases",
            ArgumentKind::TextMap,
            "the next step by case, for edges that name no case of their own",
        ),
        Argument::optional(
            "default",
            ArgumentKind::Text,
            "the case for a value that has none; _DEFAULT when absent",
        )
        .default("`_DEFAULT`"),
    ],
    result: ResultShape::Object,
    ..Descriptor::INSIDE
};
