//! `mcp.call`: a tool on a server that speaks the Model Context Protocol.

use crate::{Argument, ArgumentKind, Blank, Descriptor, Effects, Group, Receiver, Repeat, ResultProvenance};

pub static MCP_CALL: Descriptor = Descriptor {
    name: "mcp.call",
    summary: "calls a tool on an MCP server that the project names",
    details: "\
The result is the structured answer of the tool, else its one text, else the list of its parts. Only its server knows \
what a tool changes, so every tool counts as one that changes something. Servers are named in `stave.toml` \
([stores.md](stores.md)).",
    arguments: &[
        Argument::required("server", ArgumentKind::Text, "the server, by its name in stave.toml"),
        Argument::required("tool", ArgumentKind::Text, "the tool's name on the server"),
        Argument::optional("arguments", ArgumentKind::Map, "the tool's arguments"),
    ],
    effects: Effects::Writes,
    // A server is another process, on this machine or elsewhere, and what it reaches is not known.
    network: true,
    repeat: Repeat::Unsafe { advice: "leave `retries` out: the server cannot see that two calls are one" },
    receiver: Receiver::Tool { server: "server", tool: "tool" },
    provenance: ResultProvenance::Tool,
    blank: Some(Blank {
        group: Group::Tools,
        title: "Call a tool",
        id: "call_tool",
        node: r#"inputs: [{name: arguments, type: object}]
outputs: [{name: result, type: object}]
transform:
  mode: declarative
  spec:
    op: mcp.call
    args: {server: server, tool: tool, arguments: "${arguments}"}
"#,
    }),
    ..Descriptor::INSIDE
};
