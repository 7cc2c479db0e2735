//! What the servers share: connections that are accepted within a bound, and series in the form that Prometheus
//! collects.

mod accept;
mod series;

pub use accept::accept;
pub use series::{Histogram, head, line};
