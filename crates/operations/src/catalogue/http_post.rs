//! `http.post`: one POST request, with the same idempotency key on every attempt.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, DuplicateKey, Effects, Group, Receiver, Repeat,
    ResultProvenance, ResultShape, SecretUse,
};

pub static HTTP_POST: Descriptor = Descriptor {
    name: "http.post",
    summary: "sends a POST request",
    details: "\
Every attempt carries the same `Idempotency-Key`, unless the headers have one. What the outputs take is the same as for \
`http.get`.",
    arguments: &[
        Argument::required("url", ArgumentKind::Url, "the address; its host must be on the project's list")
            .secrets(SecretUse::NotInFlows),
        Argument::optional("headers", ArgumentKind::Headers, "request headers").secrets(SecretUse::Allowed),
        Argument::optional("query", ArgumentKind::Map, "query parameters").secrets(SecretUse::NotInFlows),
        Argument::optional("body", ArgumentKind::Any, "the body; anything but a text is sent as JSON"),
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
    effects: Effects::Writes,
    network: true,
    repeat: Repeat::SafeWith {
        key: DuplicateKey::Header("idempotency-key"),
        advice: "every attempt carries the same `Idempotency-Key`, which helps only if the host honours it; \
                 write the header yourself, or leave `retries` out",
    },
    receiver: Receiver::Host { address: "url" },
    provenance: ResultProvenance::Retrieval,
    blank: Some(Blank {
        group: Group::Http,
        title: "POST request",
        id: "http_post",
        node: r#"inputs: [{name: data, type: object}]
outputs: [{name: answer, type: object}]
transform:
  mode: declarative
  spec:
    op: http.post
    args: {url: "https://api.example.com/items", body: "${data}"}
"#,
    }),
    ..Descriptor::INSIDE
};
