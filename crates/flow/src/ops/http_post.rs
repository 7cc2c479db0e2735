//! `http.post`: one POST request, with the same idempotency key on every attempt.

use super::{Kind, OperationSchema, optional, required, with_secrets};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "http.post",
    summary: "sends a POST request",
    arguments: &[
        required("url", Kind::Text, "the address; its host must be on the project's list"),
        with_secrets(optional("headers", Kind::ScalarMap, "request headers")),
        optional("query", Kind::Map, "query parameters"),
        optional("body", Kind::Any, "the body; anything but a text is sent as JSON"),
        optional("timeout_ms", Kind::Count, "milliseconds for one attempt, within the node's own"),
        optional("expect_status", Kind::Statuses, "statuses that are a success; 200 to 299 when absent"),
    ],
    one_of: &[],
    effects: true,
};
