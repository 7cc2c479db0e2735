//! What the benchmarks work on, made up from fixed seeds: the same bytes on every machine.

pub(crate) mod document;
pub(crate) mod flow;
pub(crate) mod graph;
mod random;
pub(crate) mod request;
pub(crate) mod system;
pub(crate) mod trace;
