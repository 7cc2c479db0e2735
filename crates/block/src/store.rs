//! Where a planner's memory outlives the process: a port, which a file of one machine or a server that several share
//! can implement.
//!
//! A store is kept up to date by what changed, a batch at a time. It holds hashes, counts and times, never
//! text.
//!
//! Invariant: a batch is stored whole or not at all, so that a process that dies loses at most the requests
//! since its last batch.

use std::error::Error as Cause;

use thiserror::Error;

use crate::PlannerMemory;

/// Why a store could not be read or written.
#[derive(Debug, Error)]
#[error("{store}: {cause}")]
pub struct StoreError {
    store: &'static str,
    cause: Box<dyn Cause + Send + Sync>,
}

impl StoreError {
    /// What a store said; `store` names it for people.
    pub fn new(store: &'static str, cause: impl Into<Box<dyn Cause + Send + Sync>>) -> Self {
        StoreError { store, cause: cause.into() }
    }
}

/// How much a store keeps, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoreLimits {
    /// The most prefixes; those that were not seen for the longest time go first.
    pub capacity: usize,
    /// How long a prefix is kept that nobody asks for.
    pub lifetime_seconds: f64,
    /// How long a belief is kept that nothing is added to.
    pub belief_seconds: f64,
}

/// Keeps what a planner has learned.
pub trait PlannerStore: Send {
    fn load(&mut self) -> Result<PlannerMemory, StoreError>;

    /// Stores what changed, all or nothing.
    fn record(&mut self, changes: &PlannerMemory) -> Result<(), StoreError>;

    /// Drops what is too old at `now`, and the oldest of what is too much.
    fn forget(&mut self, limits: &StoreLimits, now: f64) -> Result<(), StoreError>;
}

impl Default for StoreLimits {
    fn default() -> Self {
        StoreLimits { capacity: 100_000, lifetime_seconds: 2.0 * 3600.0, belief_seconds: 7.0 * 24.0 * 3600.0 }
    }
}
