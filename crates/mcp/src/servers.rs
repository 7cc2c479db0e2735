//! The servers of a project: reached when first needed, kept, and reached again when they went away.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::CallToolRequestParams;
use rmcp::service::ServiceError;
use stave_canon::Value;
use stave_llm::SecretSearch;
use stave_runtime::tool_servers::{ToolServerCall, ToolServerFault, ToolServers};
use tokio::sync::Mutex;

use crate::connection::{self, Connection, McpEndpoint};
use crate::result;

/// Servers by name.
#[derive(Debug, Default)]
pub struct McpServers {
    servers: BTreeMap<String, Place>,
}

#[derive(Debug)]
struct Place {
    server: McpEndpoint,
    secrets: SecretSearch,
    /// The lock is held while a connection is made, so that one server is started once.
    connection: Mutex<Option<Arc<Connection>>>,
}

impl McpServers {
    pub fn new(servers: impl IntoIterator<Item = (String, McpEndpoint)>) -> Self {
        let servers = servers
            .into_iter()
            .map(|(name, server)| {
                (name, Place { secrets: server.secrets(), server, connection: Mutex::new(None) })
            })
            .collect();
        McpServers { servers }
    }
}

impl Place {
    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| !connection.is_transport_closed()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Arc::new(connection::connect(&self.server).await?);
        *kept = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

#[async_trait]
impl ToolServers for McpServers {
    async fn call(&self, call: &ToolServerCall) -> Result<Value, ToolServerFault> {
        let place = self.servers.get(&call.server).ok_or_else(|| ToolServerFault::UnknownServer {
            name: call.server.clone(),
            known: self.servers.keys().cloned().collect(),
        })?;
        let hide = |message: String| place.secrets.hide(&message).into_owned();
        let unreachable = |message: String| ToolServerFault::Unreachable {
            server: call.server.clone(),
            message: hide(message),
        };
        let connection = place.connection().await.map_err(unreachable)?;
        let arguments: serde_json::Map<String, serde_json::Value> =
            call.arguments.iter().map(|(name, value)| (name.clone(), value.to_serde())).collect();
        let request = CallToolRequestParams::new(call.tool.clone()).with_arguments(arguments);
        let (server, tool) = (call.server.clone(), call.tool.clone());
        match connection.call_tool(request).await {
            Ok(answer) => {
                let mut value = result::value(answer).map_err(|message| ToolServerFault::Failed {
                    server,
                    tool,
                    message: hide(message),
                })?;
                place.secrets.hide_in(&mut value);
                Ok(value)
            }
            Err(ServiceError::McpError(error)) => {
                Err(ToolServerFault::Refused { server, tool, message: hide(error.message.into_owned()) })
            }
            Err(error) => Err(unreachable(error.to_string())),
        }
    }
}
