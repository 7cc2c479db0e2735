//! `opcua.read`: values of a plant.

use super::{Kind, OperationSchema, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "opcua.read",
    summary: "reads values from an OPC UA server that the project lists",
    arguments: &[
        required(
            "endpoint",
            Kind::Text,
            "the server's address, opc.tcp://HOST:PORT; it must be on the project's list",
        ),
        required("node_ids", Kind::TextList, "the nodes, such as ns=2;i=5001"),
    ],
    one_of: &[],
    effects: false,
};
