//! The tool servers of a project.

use stave_shape::{FaultKind, Place, Reader, Shape, ValueNode};

use super::file::SecretReference;

/// Where a tool server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpServer {
    /// A program of its own, spoken to on its standard streams.
    Command {
        program: String,
        arguments: Vec<String>,
        /// The variables of the environment that it may see.
        environment: Vec<String>,
    },
    Http {
        url: String,
        /// The variable that holds the bearer token.
        bearer: Option<String>,
    },
}

/// A tool server.
#[derive(Debug, Shape)]
#[shape(not_null, check = has_a_command_or_a_url)]
pub(super) struct McpTable {
    /// The program of a server that is started and spoken to on its standard streams.
    command: Option<String>,
    /// The program's arguments.
    #[shape(default)]
    arguments: Vec<String>,
    /// The variables of the environment that the program may see.
    #[shape(default)]
    environment: Vec<String>,
    /// The address of a server that is spoken to over HTTP.
    url: Option<String>,
    /// The secret that is sent as bearer token.
    bearer: Option<SecretReference>,
}

fn has_a_command_or_a_url<N: ValueNode>(_: Option<&McpTable>, node: N, at: &Place<'_>, reader: &mut Reader) {
    if node.member("command").is_some() == node.member("url").is_some() {
        let kind = FaultKind::rule("value", "must be a table with either a `command` or a `url`");
        reader.fault(at, node.span(), kind);
    }
}

impl McpTable {
    pub(super) fn server(self) -> Option<McpServer> {
        match (self.command, self.url) {
            (Some(program), None) => {
                Some(McpServer::Command { program, arguments: self.arguments, environment: self.environment })
            }
            (None, Some(url)) => Some(McpServer::Http { url, bearer: self.bearer.map(|secret| secret.0) }),
            _ => None,
        }
    }
}
