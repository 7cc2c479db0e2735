//! What the servers share: connections that are accepted within a bound, turns that are shared fairly, and series in
//! the form that Prometheus collects.

mod accept;
mod queue;
mod series;

pub use accept::accept;
pub use queue::{Asked, FairQueue, Key, NoTurn, Place, Turn, Waiting};
pub use series::{Histogram, head, line};
