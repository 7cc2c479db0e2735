//! Turns for requests: so many at a time, and those that wait are admitted key by key.

pub(crate) use stave_listen::{NoTurn, Waiting};

/// Turns by the number of a key.
pub(crate) type FairQueue = stave_listen::FairQueue<u64>;
pub(crate) type Turn = stave_listen::Turn<u64>;
