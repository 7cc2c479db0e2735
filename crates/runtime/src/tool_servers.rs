//! The port to tools on servers that a project names. What speaks to them lives outside this crate.

use async_trait::async_trait;
use stave_canon::{Object, Value};

/// One call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolServerCall {
    /// The server, by the project's name for it.
    pub server: String,
    pub tool: String,
    pub arguments: Object,
}

/// Why a tool gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolServerFault {
    #[error("the project names no tool server `{name}`{}", named(known))]
    UnknownServer { name: String, known: Vec<String> },
    #[error("`{server}` refused the call of `{tool}`: {message}")]
    Refused { server: String, tool: String, message: String },
    /// The tool ran and says that it failed.
    #[error("`{tool}` on `{server}` failed: {message}")]
    Failed { server: String, tool: String, message: String },
    #[error("`{server}` cannot be reached: {message}")]
    Unreachable { server: String, message: String },
}

/// Servers whose tools flows may call.
#[async_trait]
pub trait ToolServers: Send + Sync + std::fmt::Debug {
    /// Calls a tool and waits for its result. Dropping the call ends the wait.
    async fn call(&self, call: &ToolServerCall) -> Result<Value, ToolServerFault>;
}

/// A project without tool servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoToolServers;

#[async_trait]
impl ToolServers for NoToolServers {
    async fn call(&self, call: &ToolServerCall) -> Result<Value, ToolServerFault> {
        Err(ToolServerFault::UnknownServer { name: call.server.clone(), known: Vec::new() })
    }
}

fn named(known: &[String]) -> String {
    if known.is_empty() {
        return "; stave.toml names them in [mcp.NAME]".to_owned();
    }
    format!("; it names {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
}
