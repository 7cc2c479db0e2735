//! The engine port on Restate, for more than one machine.
//!
//! A run is a workflow that drives the graph of its exec document; each step is a service call of its own, so
//! that parallel branches survive a crash; what a session remembers is a virtual object. What can start and what
//! follows from a result is decided by [`stave_runtime::interpreter`], the code that the embedded engine runs.
//!
//! Invariants: the order of what a run asks Restate for follows from its document, its request and the results in
//! its journal alone; a value that is larger than [`INLINE_BYTES`] is kept once, by its hash, and named
//! everywhere else; a run keeps the document that it began with; `context.auth` is never sent to Restate.

mod body;
mod client;
mod engine;
mod error;
mod keys;
mod messages;
mod runs;
mod services;
mod state;
mod step_journal;
mod store;
mod worker;

pub use client::{Addresses, RestateClient};
pub use engine::RestateEngine;
pub use error::ScaleError;
pub use keys::ProjectKey;
pub use runs::RestateRuns;
pub use store::INLINE_BYTES;
pub use worker::{Kept, Projects, Worker, WorkerOptions, listen};
