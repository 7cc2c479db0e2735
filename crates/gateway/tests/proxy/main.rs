//! The gateway over sockets of this machine: clients that speak bytes, and upstreams that answer from a script.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "these tests look at the clock and stop where something is not as it should be"
)]

mod addresses;
mod budgets;
mod client;
mod echoes;
mod failing;
mod hostile;
mod large_bodies;
mod life;
mod passing;
mod policy;
mod routing;
mod scene;
mod shapes;
mod translation;
mod upstream;
