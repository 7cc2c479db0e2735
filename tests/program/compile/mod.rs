//! `stave compile`: what it writes, that it writes all of it or nothing, and that the same sources always
//! give the same bytes.

mod clean;
mod kill;
mod kill_in_order;
mod outputs;
mod policy;
mod run_document;
mod sample;
mod watch;
