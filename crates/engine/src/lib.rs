//! The pure core of a run: a state machine that takes events and answers with actions.
//!
//! An executor performs the actions and feeds back what happened. The embedded engine and the engine on
//! Restate are two executors of this one machine, so a flow means the same in both. Beside the run's machine are
//! that of one execution's [`Attempts`] and the [`budget::Ledger`] of a run: tools and list items use them as well.
//!
//! Invariants: the core reads no clock, does no I/O and takes no lock; the same events in the same order give
//! the same actions; every node ends in exactly one of ok, error, skipped or cancelled; ties are broken by
//! document order.

mod attempts;
pub mod budget;
pub mod failure;
mod frame;
pub mod graph;
mod machine;
mod ports;
pub mod references;
mod routes;
mod semantics;
mod size;
mod transitions;

pub use attempts::{AttemptAction, AttemptEvent, AttemptRules, Attempts, contract_exceeded};
pub use failure::{Failure, FailureKind, RunFailure};
pub use graph::{EngineEdge, EngineNode, Graph};
pub use machine::{Machine, MachineAction, MachineEvent, RunEnd, StepStart, Stopped};
pub use routes::{Routes, Signal, StepResult};
pub use size::{CopyLimit, object_bytes, value_bytes};
