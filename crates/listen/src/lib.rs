//! What the servers share: connections that are accepted within a bound, turns that are shared fairly, heavy work away
//! from the threads that serve, and series in the form that Prometheus collects.

mod accept;
mod heavy_work;
mod queue;
mod series;

pub use accept::accept;
pub use heavy_work::{HeavyTurn, HeavyWorkQueue, without_blocking};
pub use queue::{FairQueue, NoTurn, QueueAdmission, QueueKey, QueueTicket, Turn, Waiting};
pub use series::{Histogram, head, line};
