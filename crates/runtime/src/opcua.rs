//! The port to plants that speak OPC UA. What speaks to them lives outside this crate, and only in builds that
//! ask for it.

use async_trait::async_trait;
use stave_canon::{Timestamp, Value};

/// Servers of plants whose values flows may read and write.
#[async_trait]
pub trait Opcua: Send + Sync + std::fmt::Debug {
    /// Reads values, in the order of `nodes`. Dropping the call ends it.
    async fn read(&self, endpoint: &str, nodes: &[String]) -> Result<Vec<Reading>, OpcuaFault>;

    /// Writes one value. Without a type it is written as what the node holds.
    async fn write(
        &self,
        endpoint: &str,
        node: &str,
        value: &Value,
        kind: Option<&str>,
    ) -> Result<(), OpcuaFault>;
}

/// One value of a plant.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub value: Value,
    /// Whether the server is sure of it.
    pub is_certain: bool,
    /// When it was measured.
    pub measured_at: Option<Timestamp>,
}

/// Why a value was not read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpcuaFault {
    #[error("`{endpoint}` is not in `opcua.allow`")]
    NotAllowed { endpoint: String },
    /// What the flow gave cannot be asked for or written.
    #[error("{0}")]
    BadArgument(String),
    /// The server is not set up as the project wants it.
    #[error("{0}")]
    Configuration(String),
    #[error("`{endpoint}` refused `{node}`: {status}")]
    Refused { endpoint: String, node: String, status: String },
    #[error("`{endpoint}` gave no answer within {limit_ms} ms")]
    Timeout { endpoint: String, limit_ms: u128 },
    #[error("`{endpoint}` cannot be reached: {message}")]
    Unreachable { endpoint: String, message: String },
}
