//! `http.get`: one GET request.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, Effects, Group, Receiver, ResultProvenance, ResultShape,
    SecretUse,
};

pub static HTTP_GET: Descriptor = Descriptor {
    name: "http.get",
    summary: "sends a GET request",
    details: "\
A sole output takes the body: a value when the host says that it is JSON, else a text. Several outputs take `status`, \
`headers` and `body` by name. A status other than success fails the step; 408, 409, 425, 429 and 5xx are tried again.",
    arguments: &[
        Argument::required("url", ArgumentKind::Url, "the address; its host must be on the project's list")
            .secrets(SecretUse::NotInFlows),
        Argument::optional("headers", ArgumentKind::Headers, "request headers").secrets(SecretUse::Allowed),
        Argument::optional("query", ArgumentKind::Map, "query parameters").secrets(SecretUse::NotInFlows),
        Argument::optional(
            "timeout_ms",
            ArgumentKind::Count,
            "milliseconds for one attempt, within the node's own",
        )
        .default("the node's own"),
        Argument::optional(
            "expect_status",
            ArgumentKind::Statuses,
            "statuses that are a success; 200 to 299 when absent",
        )
        .default("200 to 299"),
    ],
    result: ResultShape::ValueOrPorts(&["status", "headers", "body"]),
    effects: Effects::Reads,
    network: true,
    receiver: Receiver::Host { address: "url" },
    provenance: ResultProvenance::Retrieval,
    blank: Some(Blank {
        group: Group::Http,
        title: "GET request",
        id: "http_get",
        node: r#"inputs: [{name: id, type: string}]
outputs: [{name: answer, type: object}]
transform:
  mode: declarative
  spec:
    op: http.get
    args: {url: "https://api.example.com/items/${id}"}
"#,
    }),
    ..Descriptor::INSIDE
};
