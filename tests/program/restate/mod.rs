//! The engine on Restate, against the real server: the same outcomes as the embedded engine, and nothing lost
//! when a worker, a server or a node of a cluster is killed.

mod cluster;
mod corpus;
mod faults;
mod runs;
