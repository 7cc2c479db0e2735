//! The system line (specification 003): what a system is, whose it is, and what it may touch.
//!
//! A [`SystemDocument`] is a tenant-scoped graph of typed nodes with effects, provenance and operational
//! contracts. Loading is strict: no type is coerced, and every fault of a document is reported at once,
//! each with a JSON pointer. Writing is canonical: one document has one text and one fingerprint,
//! whatever order its nodes, dependencies, provenance rows, triggers and transitions came in.
//!
//! Invariant: a [`SystemDocument`] that was loaded, or passed [`SystemDocument::checked`], has one tenant throughout,
//! unique node ids and well-formed contracts.

pub mod bundle;
mod codec;
pub mod codes;
pub mod deploy;
mod diff;
mod fault;
mod fingerprint;
pub mod knowledge;
pub mod manifest;
pub mod manifest_check;
pub mod migrate;
pub mod model;
mod plan;
pub mod policy;
pub mod sign;
mod stable_id;
mod strip;
pub mod verify;
mod workflow_order;

pub use codec::{contract_value, node_value, schema};
pub use diff::{NodeChanges, ScopeMismatch, changed_members, diff, members};
pub use fault::{LoadError, Places, SystemFault};
pub use fingerprint::stable_json_fingerprint;
pub use model::{NodeKind, SystemDocument, SystemNode, SystemVersion};
pub use plan::{PlanContext, plan_to_ir};
pub use stable_id::{
    BlankPart, acceptance_contract_id, deployment_contract_id, runtime_contract_id, stable_node_id,
};
pub use strip::strip;
pub use workflow_order::workflow_order;
