//! `mcp.call`: a tool on a server that speaks the Model Context Protocol.

use super::{Kind, OperationSchema, optional, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "mcp.call",
    summary: "calls a tool on an MCP server that the project names",
    arguments: &[
        required("server", Kind::Text, "the server, by its name in stave.toml"),
        required("tool", Kind::Text, "the tool's name on the server"),
        optional("arguments", Kind::Map, "the tool's arguments"),
    ],
    one_of: &[],
    // What a tool does is known to its server only.
    effects: true,
};
