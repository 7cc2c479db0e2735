//! Tools on servers that speak the Model Context Protocol, over standard streams and over HTTP.
//!
//! Invariant: which programs are started and which addresses are reached is the project's word, never a flow's.
//! A started program sees the variables of the environment that the project lists, and no others.

mod connection;
mod result;
mod servers;

pub use connection::McpEndpoint;
pub use servers::McpServers;
