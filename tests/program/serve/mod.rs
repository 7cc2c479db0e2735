//! `stave serve` over a socket of this machine.

mod access;
pub(crate) mod client;
mod kserve_client;
mod limits;
mod predict;
mod reload;
mod runs;
pub(crate) mod sample;
