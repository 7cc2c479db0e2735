//! `opcua.write`: one value of a plant set.

use super::{Kind, OperationSchema, optional, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "opcua.write",
    summary: "writes a value to an OPC UA server that the project lists",
    arguments: &[
        required(
            "endpoint",
            Kind::Text,
            "the server's address, opc.tcp://HOST:PORT; it must be on the project's list",
        ),
        required("node_id", Kind::Text, "the node, such as ns=2;i=5001"),
        required("value", Kind::Any, "the value"),
        optional("type", Kind::Text, "the value's type, such as Double; what the node holds when absent"),
    ],
    one_of: &[],
    // A plant does what it is told.
    effects: true,
};
