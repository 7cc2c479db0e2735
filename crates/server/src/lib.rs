//! HTTP: flows served by the protocols of KServe, their runs started, watched and decided on, and the studio
//! in which they are seen, edited and run.
//!
//! A [`Server`] answers on connections that the caller accepts for it. Flows come in as a [`Catalog`], which
//! can be exchanged while it runs; a run continues with the document it began with, also when the client that
//! asked for it is gone.
//!
//! Invariants: every request is bounded in size, time and number; a principal sees the flows and runs of its
//! own tenant that its key is for and no others, and does what its key has the role for; an error is a problem document (RFC 9457) and holds no secret.

mod access;
mod api;
mod batch;
mod bodies;
mod body_weight;
mod catalog;
mod connection;
mod context;
mod decoded_path;
mod events;
mod handlers;
mod kept_auth;
mod keys;
mod log;
mod mcp;
mod message;
mod metrics;
mod observed;
mod openapi;
mod problem;
mod problem_codes;
mod recovery;
mod roles;
mod route;
mod runs;
mod server;
mod start;
mod studio;
mod tensor;
mod typescript;

pub use catalog::{Catalog, Engines, FaultPlace, ServedFlow, SharedName, TenantRuns, Unserved};
pub use context::ContextFieldSource;
pub use keys::{BadKeys, KeyRing, Keys};
pub use log::{RunOf, ServerEvent, ServerLog};
pub use observed::Watched;
pub use openapi::openapi;
pub use problem_codes::{PROBLEM_CODES, problem_code};
pub use server::{Server, ServerLimits, ServerOptions};
pub use studio::{CompiledLines, Studio, Workspace, WorkspaceError, WorkspaceFile, WorkspaceProject};
pub use typescript::typescript;
