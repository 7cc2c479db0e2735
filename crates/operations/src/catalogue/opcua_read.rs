//! `opcua.read`: values of a plant.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, Effects, Feature, Group, Receiver, ResultProvenance,
    ResultShape,
};

/// What both operations on plants need.
pub(super) const OPCUA: Feature = Feature {
    name: "opcua",
    title: "OPC UA",
    advice: "build it with `--features opcua`, and list the plant's address under `[opcua] allow` in stave.toml",
};

pub static OPCUA_READ: Descriptor = Descriptor {
    name: "opcua.read",
    summary: "reads values from an OPC UA server that the project lists",
    details: "\
A sole output takes the values by node id. Several outputs take `values`, `qualities` and `timestamps`. One step reads at \
most 1000 nodes. See [opcua.md](opcua.md).",
    arguments: &[
        Argument::required(
            "endpoint",
            ArgumentKind::Text,
            "the server's address, opc.tcp://HOST:PORT; it must be on the project's list",
        ),
        Argument::required("node_ids", ArgumentKind::TextList, "the nodes, such as ns=2;i=5001"),
    ],
    result: ResultShape::ValueOrPorts(&["values", "qualities", "timestamps"]),
    effects: Effects::Reads,
    network: true,
    receiver: Receiver::Host { address: "endpoint" },
    provenance: ResultProvenance::Retrieval,
    feature: Some(OPCUA),
    blank: Some(Blank {
        group: Group::Tools,
        title: "Read a plant",
        id: "read_plant",
        node: r#"inputs: []
outputs: [{name: values, type: object}]
transform:
  mode: declarative
  spec:
    op: opcua.read
    args: {endpoint: "opc.tcp://plant.example:4840", node_ids: ["ns=2;i=5001"]}
"#,
    }),
    ..Descriptor::INSIDE
};
