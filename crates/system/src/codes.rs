//! The codes of the system line, as faults and issues carry them.

pub use stave_diag::codes::system::*;
