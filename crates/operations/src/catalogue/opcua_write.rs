//! `opcua.write`: one value of a plant set.

use super::opcua_read::OPCUA;
use crate::{
    Argument, ArgumentKind, Blank, Descriptor, Effects, Group, Receiver, Repeat, ResultProvenance,
    ResultShape,
};

pub static OPCUA_WRITE: Descriptor = Descriptor {
    name: "opcua.write",
    summary: "writes a value to an OPC UA server that the project lists",
    details: "\
A sole output takes `{node_id, value, status}`; several outputs take these by name. See [opcua.md](opcua.md).",
    arguments: &[
        Argument::required(
            "endpoint",
            ArgumentKind::Text,
            "the server's address, opc.tcp://HOST:PORT; it must be on the project's list",
        ),
        Argument::required("node_id", ArgumentKind::Text, "the node, such as ns=2;i=5001"),
        Argument::required("value", ArgumentKind::Any, "the value"),
        Argument::optional(
            "type",
            ArgumentKind::Text,
            "the value's type, such as Double; what the node holds when absent",
        )
        .default("what the node holds"),
    ],
    result: ResultShape::ValueOrPorts(&["node_id", "value", "status"]),
    // A write changes the plant.
    effects: Effects::Writes,
    network: true,
    repeat: Repeat::Unsafe {
        advice: "leave `retries` out: the value may have been set, and have changed since, before the failure was seen",
    },
    receiver: Receiver::Host { address: "endpoint" },
    provenance: ResultProvenance::Retrieval,
    feature: Some(OPCUA),
    blank: Some(Blank {
        group: Group::Tools,
        title: "Set a value of a plant",
        id: "write_plant",
        node: r#"inputs: [{name: value, type: number}]
outputs: [{name: written, type: object}]
transform:
  mode: declarative
  spec:
    op: opcua.write
    args: {endpoint: "opc.tcp://plant.example:4840", node_id: "ns=2;i=5001", value: "${value}"}
"#,
    }),
    ..Descriptor::INSIDE
};
