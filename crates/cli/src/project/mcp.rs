//! The tool servers of a project.

use std::collections::BTreeMap;

use super::read::{Reader, Table};

/// Where a tool server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum McpServer {
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

impl Reader<'_> {
    pub(super) fn mcp(&mut self, root: &Table<'_>) -> BTreeMap<String, McpServer> {
        let mut servers = BTreeMap::new();
        let Some(mcp) = self.table(root, "mcp") else { return servers };
        for key in mcp.keys() {
            let name = key.get_ref().as_ref();
            let Some(table) = self.table(mcp, name) else { continue };
            self.known(
                table,
                &format!("mcp.{name}."),
                &["command", "arguments", "environment", "url", "bearer"],
            );
            if let Some(server) = self.mcp_server(mcp, name, table) {
                servers.insert(name.to_owned(), server);
            }
        }
        servers
    }

    fn mcp_server(&mut self, mcp: &Table<'_>, name: &str, table: &Table<'_>) -> Option<McpServer> {
        match (self.text(table, "command"), self.text(table, "url")) {
            (Some(program), None) => Some(McpServer::Command {
                program,
                arguments: self.texts(table, "arguments").unwrap_or_default(),
                environment: self.texts(table, "environment").unwrap_or_default(),
            }),
            (None, Some(url)) => {
                let bearer = self.text(table, "bearer").and_then(|text| {
                    let name = text.strip_prefix("${secrets.").and_then(|rest| rest.strip_suffix('}'));
                    if name.is_none() {
                        self.bad_value(table, "bearer", "\"${secrets.NAME}\"");
                    }
                    name.map(str::to_owned)
                });
                Some(McpServer::Http { url, bearer })
            }
            _ => {
                self.bad_value(mcp, name, "a table with either a `command` or a `url`");
                None
            }
        }
    }
}
