//! `http.get`: one GET request.

use super::{Kind, OperationSchema, optional, required, with_secrets};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "http.get",
    summary: "sends a GET request",
    arguments: &[
        required("url", Kind::Text, "the address; its host must be on the project's list"),
        with_secrets(optional("headers", Kind::ScalarMap, "request headers")),
        optional("query", Kind::Map, "query parameters"),
        optional("timeout_ms", Kind::Count, "milliseconds for one attempt, within the node's own"),
        optional("expect_status", Kind::Statuses, "statuses that are a success; 200 to 299 when absent"),
    ],
    one_of: &[],
    effects: false,
};
