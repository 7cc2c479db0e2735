//! `stave serve` over a socket of this machine.

mod access;
mod client;
mod kserve_client;
mod limits;
mod load;
mod mcp;
mod predict;
mod reload;
mod runs;
mod sample;
mod schemathesis;

pub(crate) use client::{Answer, Served};
pub(crate) use sample::{careful, echo, project};
