//! `stave serve` over a socket of this machine.

mod access;
pub(crate) mod client;
mod interface;
mod kserve_client;
mod limits;
mod load;
mod mcp;
mod one_driver;
mod operation;
mod predict;
mod recovery;
mod reload;
mod request_auth;
mod roles;
pub(crate) mod runs;
pub(crate) mod sample;
mod schemathesis;
mod sessions;
mod shares;
mod starts;
mod statuses;
mod tightened;

pub(crate) use client::{Answer, Served};
pub(crate) use sample::{careful, echo, project};
mod unwritable;
