//! Plants that speak OPC UA, for the steps `opcua.read` and `opcua.write`.
//!
//! Invariant: connections go to the addresses that the project lists and nowhere else, whatever a flow names
//! and whatever a server says about its own address. A certificate counts only when the project trusts it.

mod connection;
mod plants;
mod value;

pub use plants::{OpcUaSettings, Plants, Security, TIMEOUT, User};
